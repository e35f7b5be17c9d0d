/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Header lines of any server: what is kept of them stays within its bounds, and warnings are lines of text. The input is
 * header lines, one a line.
 */
#include "fuzz.h"

#include "kube/curl_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        struct kube_call call = { 0 };
        struct str rest = { (const char *)data, n }, line;

        reply_init(&call);
        while (str_next(&rest, '\n', &line))
                reply_header(&call, line, INT64_C(1700000000000));

        HOLDS(call.status >= -999 && call.status <= 999);
        HOLDS(call.retry_after_ms >= 0 && call.retry_after_ms <= INT64_C(86400000));
        HOLDS(call.warnings.n <= CURL_MAX_WARNING_BYTES);
        HOLDS(!call.warnings.n || (call.warnings.p[0] != '\n' && call.warnings.p[call.warnings.n - 1] != '\n'));
        for (size_t i = 0; i < call.warnings.n; i++)
                HOLDS((unsigned char)call.warnings.p[i] >= ' ' || call.warnings.p[i] == '\n');
        reply_done(&call);
        return 0;
}
