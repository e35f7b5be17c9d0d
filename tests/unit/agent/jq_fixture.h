/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of both engines share: the engine, who is answered, and an object to ask about. */
#ifndef TRUCE_TESTS_JQ_FIXTURE_H
#define TRUCE_TESTS_JQ_FIXTURE_H

#include "jq_test.h"

struct fixture {
        struct loop *l;
        struct jq_engine *engine;
        struct answers *to;
};

static int teardown(void **state) {
        struct fixture *f = *state;

        jq_engine_free(f->engine);
        answers_free(f->to);
        loop_free(f->l);
        free(f);
        return 0;
}

static const char pod[] = "{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\",\"env\":[1,2,3]}],\"x\":null}}";

#endif
