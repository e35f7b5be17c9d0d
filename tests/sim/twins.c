/* SPDX-License-Identifier: Apache-2.0 */
#include "twins.h"

#include <time.h>

#include "base/hash.h"

void __wrap_hash_random(void *p, size_t n);
void __real_hash_random(void *p, size_t n);
const struct hash_key *__wrap_hash_process_key(void);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __real_clock_gettime(clockid_t id, struct timespec *ts);

static const struct loop *loop;
static struct hash_key key;
static uint64_t drawn;
static bool unseeded;

void twins_begin(const struct loop *l, uint64_t seed) {
        loop = l;
        key = (struct hash_key){ seed, 1 };
        drawn = 0;
        unseeded = false;
}

void twins_end(void) {
        loop = NULL;
}

void twins_unseed(void) {
        unseeded = true;
}

void __wrap_hash_random(void *p, size_t n) {
        if (unseeded) {
                __real_hash_random(p, n);
                return;
        }
        for (size_t i = 0; i < n; i++) {
                drawn++;
                ((unsigned char *)p)[i] = (unsigned char)hash64(&key, (struct str){ (const char *)&drawn, sizeof drawn });
        }
}

const struct hash_key *__wrap_hash_process_key(void) {
        return &key;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts) {
        if (!loop || id != CLOCK_BOOTTIME)
                return __real_clock_gettime(id, ts);
        ts->tv_sec = loop_now_ms(loop) / 1000;
        ts->tv_nsec = loop_now_ms(loop) % 1000 * 1000000;
        return 0;
}
