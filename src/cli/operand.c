/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/operand.h"

int operand_read(const struct str *words, size_t count, const char *verb, struct operand *ret, struct err *err) {
        struct str text = count ? words[0] : STR("");
        ptrdiff_t slash = str_find(text, '/', 0);
        struct operand o = { 0 };

        if (count == 2 && slash < 0)
                o = (struct operand){ text, words[1] };
        else if (count == 1 && slash > 0)
                o = (struct operand){ str_sub(text, 0, (size_t)slash), str_sub(text, (size_t)slash + 1, text.n) };
        if (!o.name.n || str_find(o.name, '/', 0) >= 0)
                return err_set(err, ERR_INVAL, "say which object: truce %s deploy/web -n shop", verb);
        *ret = o;
        return 0;
}
