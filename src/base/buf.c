/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#define BUF_MIN_CAP_BYTES 64

static char empty[1];

void *mem_alloc(size_t n) {
        return mem_realloc(NULL, n);
}

void *mem_zalloc(size_t n) {
        return memset(mem_alloc(n), 0, n);
}

void *mem_realloc(void *p, size_t n) {
        p = realloc(p, n ? n : 1);
        if (p)
                return p;

        static const char text[] = "truce: out of memory\n";
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        abort();
}

void *mem_grow(void *p, size_t *cap, size_t want, size_t size) {
        if (want <= *cap)
                return p;

        size_t next = *cap ? *cap * 2 : 8, bytes;
        if (next < want)
                next = want;
        if (__builtin_mul_overflow(next, size, &bytes))
                abort();
        *cap = next;
        return mem_realloc(p, bytes);
}

struct buf buf_make(size_t max) {
        return (struct buf){ .p = empty, .max = max };
}

void buf_done(struct buf *b) {
        if (b->cap)
                free(b->p);
        *b = buf_make(b->max);
}

void buf_clear(struct buf *b) {
        b->n = 0;
        b->overflow = false;
        if (b->cap)
                b->p[0] = '\0';
}

/* Makes room for `more` bytes and the NUL; false when that would pass the maximum. */
static bool reserve(struct buf *b, size_t more) {
        if (b->overflow || more > b->max - b->n) {
                b->overflow = true;
                return false;
        }
        if (b->n + more + 1 <= b->cap)
                return true;

        size_t cap = b->cap ? b->cap * 2 : BUF_MIN_CAP_BYTES;
        if (cap > b->max && b->max < SIZE_MAX)
                cap = b->max + 1;
        if (cap < b->n + more + 1)
                cap = b->n + more + 1;
        b->p = mem_realloc(b->cap ? b->p : NULL, cap);
        b->cap = cap;
        return true;
}

void buf_add(struct buf *b, struct str s) {
        if (s.n == 0 || !reserve(b, s.n))
                return;
        memcpy(b->p + b->n, s.p, s.n);
        b->n += s.n;
        b->p[b->n] = '\0';
}

void buf_addc(struct buf *b, const char *c) {
        buf_add(b, str_from(c));
}

void buf_addch(struct buf *b, char c) {
        buf_add(b, (struct str){ &c, 1 });
}

void buf_addf(struct buf *b, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        buf_vaddf(b, fmt, ap);
        va_end(ap);
}

void buf_vaddf(struct buf *b, const char *fmt, va_list ap) {
        va_list again;

        va_copy(again, ap);
        int n = vsnprintf(NULL, 0, fmt, ap);
        if (n > 0 && reserve(b, (size_t)n)) {
                vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again);
                b->n += (size_t)n;
        }
        va_end(again);
}

void buf_consume(struct buf *b, size_t n) {
        if (n == 0)
                return;
        memmove(b->p, b->p + n, b->n - n + 1);
        b->n -= n;
}

void buf_truncate(struct buf *b, size_t n) {
        b->n = n;
        if (b->cap)
                b->p[n] = '\0';
}

int buf_check(const struct buf *b, const char *what, struct err *err) {
        if (!b->overflow)
                return 0;
        return err_set(err, ERR_LIMIT, "%s is larger than %zu bytes", what, b->max);
}

char *buf_take(struct buf *b) {
        char *p = b->cap ? b->p : str_dup((struct str){ 0 });

        *b = buf_make(b->max);
        return p;
}
