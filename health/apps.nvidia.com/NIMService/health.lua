-- SPDX-License-Identifier: Apache-2.0
-- status.state decides; the conditions say why it is not Ready.
return require("nim").judge(obj)
