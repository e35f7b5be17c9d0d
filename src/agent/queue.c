/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/queue.h"

#include "base/map.h"

/* Where an item stands in a heap; 0: nowhere. */
struct place {
        size_t at;
        int64_t due;   /* smallest first */
        uint64_t turn; /* of equal ones, the one that came first */
};

struct item {
        char *key;
        struct place ready, delayed;
        int priority;       /* of the run to come */
        int64_t added_ms;   /* since when it waits to be run */
        int64_t started_ms; /* of the run under way */
        unsigned failures;
        bool dirty; /* to be run: in the heap of ready ones, or once the run under way has ended */
        bool running, terminal;
        bool released; /* while the run under way went on: its end is not terminal */
};

/* A binary heap of items by one of their places; items[0] is not used. */
struct heap {
        struct item **items;
        size_t count, cap;
        size_t offset; /* of the place in an item */
};

struct queue {
        struct loop *loop;
        struct queue_options options;
        struct map *items; /* key → struct item */
        struct heap ready, delayed;
        struct loop_timer *pump; /* runs what is due; one that is not under way is not needed */
        uint64_t turns;
        struct queue_stats stats;
};

/* --- the heaps ------------------------------------------------------------------------------------------------ */

static struct place *place_of(const struct heap *h, struct item *item) {
        return (struct place *)((char *)item + h->offset);
}

static bool comes_before(const struct heap *h, struct item *a, struct item *b) {
        const struct place *p = place_of(h, a), *q = place_of(h, b);

        return p->due != q->due ? p->due < q->due : p->turn < q->turn;
}

static void put(struct heap *h, size_t at, struct item *item) {
        h->items[at] = item;
        place_of(h, item)->at = at;
}

static void sift_up(struct heap *h, size_t at) {
        struct item *item = h->items[at];

        for (; at > 1 && comes_before(h, item, h->items[at / 2]); at /= 2)
                put(h, at, h->items[at / 2]);
        put(h, at, item);
}

static void sift_down(struct heap *h, size_t at) {
        struct item *item = h->items[at];

        while (at * 2 <= h->count) {
                size_t child = at * 2;

                if (child < h->count && comes_before(h, h->items[child + 1], h->items[child]))
                        child++;
                if (!comes_before(h, h->items[child], item))
                        break;
                put(h, at, h->items[child]);
                at = child;
        }
        put(h, at, item);
}

static void heap_remove(struct heap *h, struct item *item) {
        size_t at = place_of(h, item)->at;
        struct item *last;

        if (!at)
                return;
        place_of(h, item)->at = 0;
        last = h->items[h->count--];
        if (last == item)
                return;
        put(h, at, last);
        sift_up(h, at);
        sift_down(h, place_of(h, last)->at);
}

static void heap_add(struct heap *h, struct item *item, int64_t due, uint64_t turn) {
        struct place *place = place_of(h, item);

        heap_remove(h, item);
        h->items = mem_grow(h->items, &h->cap, h->count + 2, sizeof *h->items);
        place->due = due;
        place->turn = turn;
        put(h, ++h->count, item);
        sift_up(h, h->count);
}

static struct item *heap_first(const struct heap *h) {
        return h->count ? h->items[1] : NULL;
}

/* --- items ---------------------------------------------------------------------------------------------------- */

static void item_free(void *p) {
        struct item *item = p;

        free(item->key);
        free(item);
}

static struct item *item_get(struct queue *q, struct str key) {
        struct item *item = map_find(q->items, key);

        if (item)
                return item;
        item = mem_zalloc(sizeof *item);
        item->key = str_dup(key);
        map_set(q->items, key, item);
        return item;
}

/* One of which nothing is to be remembered goes. */
static void settle(struct queue *q, struct item *item) {
        if (!item->dirty && !item->running && !item->terminal && !item->failures && !item->delayed.at)
                map_remove(q->items, str_from(item->key));
}

/* When the queue has to act next. */
static void wind(struct queue *q) {
        int64_t now = loop_now_ms(q->loop);
        const struct item *next = heap_first(&q->delayed);

        if (q->ready.count && q->stats.active < q->options.workers)
                loop_timer_start(q->pump, 0);
        else if (next)
                loop_timer_start(q->pump, next->delayed.due - now);
        else
                loop_timer_stop(q->pump);
}

static void make_ready(struct queue *q, struct item *item, int priority) {
        int64_t now = loop_now_ms(q->loop);

        if (item->dirty && (item->running || priority <= item->priority)) {
                item->priority = priority > item->priority ? priority : item->priority;
                return;
        }
        if (!item->dirty)
                item->added_ms = now;
        item->dirty = true;
        item->priority = priority;
        if (!item->running)
                heap_add(&q->ready, item, now - (int64_t)priority * QUEUE_STEP_MS, ++q->turns);
}

void queue_add(struct queue *q, struct str key, int priority) {
        struct item *item = item_get(q, key);

        q->stats.adds++;
        if (!item->terminal)
                make_ready(q, item, priority);
        settle(q, item);
        wind(q);
}

static void add_delayed(struct queue *q, struct item *item, int64_t delay_ms) {
        int64_t due = loop_now_ms(q->loop) + (delay_ms > 0 ? delay_ms : 0);

        if (!item->delayed.at || due < item->delayed.due)
                heap_add(&q->delayed, item, due, ++q->turns);
}

void queue_add_after(struct queue *q, struct str key, int64_t delay_ms) {
        struct item *item = item_get(q, key);

        if (!item->terminal)
                add_delayed(q, item, delay_ms);
        settle(q, item);
        wind(q);
}

void queue_release(struct queue *q, struct str key) {
        struct item *item = item_get(q, key);

        item->released = item->running;
        item->terminal = false;
        queue_add(q, key, QUEUE_NOW);
}

void queue_forget(struct queue *q, struct str key) {
        struct item *item = map_find(q->items, key);

        if (!item)
                return;
        heap_remove(&q->ready, item);
        heap_remove(&q->delayed, item);
        item->dirty = item->terminal = false;
        item->failures = 0;
        settle(q, item);
        wind(q);
}

/* --- runs ----------------------------------------------------------------------------------------------------- */

void queue_times_add(struct queue_times *t, int64_t ms) {
        int64_t bound_ms = 1;
        size_t i = 0;

        for (; i + 1 < QUEUE_BUCKETS && ms > bound_ms; i++)
                bound_ms *= 10;
        t->buckets[i]++;
        t->count++;
        t->sum_ms += ms;
}

static void begin(struct queue *q, struct item *item) {
        int64_t now = loop_now_ms(q->loop);

        heap_remove(&q->ready, item);
        heap_remove(&q->delayed, item);
        queue_times_add(&q->stats.waited, now - item->added_ms);
        item->dirty = item->released = false;
        item->running = true;
        item->started_ms = now;
        q->stats.active++;
        q->options.run(q->options.ctx, str_from(item->key));
}

static void pump(void *ctx) {
        struct queue *q = ctx;
        struct item *item;

        while ((item = heap_first(&q->delayed)) && item->delayed.due <= loop_now_ms(q->loop)) {
                heap_remove(&q->delayed, item);
                make_ready(q, item, QUEUE_LATER);
        }
        /* What this turn brings is for the next one: a run that ends at once and adds its key must not hold up the
         * loop. */
        for (size_t count = q->ready.count; count > 0 && q->stats.active < q->options.workers; count--) {
                item = heap_first(&q->ready);
                if (!item)
                        break;
                begin(q, item);
        }
        wind(q);
}

static int64_t backoff(struct queue *q, unsigned failures) {
        int64_t wait = QUEUE_FIRST_BACKOFF_MS;

        for (unsigned i = 1; i < failures && wait < q->options.max_backoff_ms; i++)
                wait *= 2;
        if (wait > q->options.max_backoff_ms)
                wait = q->options.max_backoff_ms;
        return wait + (int64_t)loop_random(q->loop, (uint64_t)wait / 10 + 1);
}

static void note_end(struct queue *q, struct item *item, enum queue_end end, int64_t after_ms) {
        int64_t wait;

        item->failures = end == QUEUE_FAILED ? item->failures + 1 : 0;
        switch (end) {
        case QUEUE_DONE:
                return;
        case QUEUE_AGAIN:
                add_delayed(q, item, after_ms);
                return;
        case QUEUE_FAILED:
                q->stats.retries++;
                wait = backoff(q, item->failures);
                add_delayed(q, item, wait > after_ms ? wait : after_ms);
                return;
        case QUEUE_TERMINAL:
                if (item->released)
                        return;
                item->terminal = true;
                item->dirty = false;
                heap_remove(&q->delayed, item);
                return;
        }
}

void queue_done(struct queue *q, struct str key, enum queue_end end, int64_t after_ms) {
        struct item *item = map_find(q->items, key);
        int64_t now = loop_now_ms(q->loop);

        if (!item || !item->running)
                return;
        item->running = false;
        q->stats.active--;
        q->stats.ends[end]++;
        queue_times_add(&q->stats.worked, now - item->started_ms);
        note_end(q, item, end, after_ms);
        if (item->dirty)
                heap_add(&q->ready, item, now - (int64_t)item->priority * QUEUE_STEP_MS, ++q->turns);
        settle(q, item);
        wind(q);
}

unsigned queue_failures(const struct queue *q, struct str key) {
        const struct item *item = map_find(q->items, key);

        return item ? item->failures : 0;
}

bool queue_is_terminal(const struct queue *q, struct str key) {
        const struct item *item = map_find(q->items, key);

        return item && item->terminal;
}

void queue_stats(const struct queue *q, struct queue_stats *ret_stats) {
        int64_t now = loop_now_ms(q->loop);
        size_t at = 0;
        void *p;

        *ret_stats = q->stats;
        ret_stats->depth = q->ready.count;
        ret_stats->workers = q->options.workers;
        while (map_next(q->items, &at, NULL, &p)) {
                const struct item *item = p;
                int64_t for_ms = item->running ? now - item->started_ms : 0;

                ret_stats->unfinished_ms += for_ms;
                if (for_ms > ret_stats->longest_ms)
                        ret_stats->longest_ms = for_ms;
        }
}

struct queue *queue_new(struct loop *l, const struct queue_options *options) {
        struct queue *q = mem_zalloc(sizeof *q);

        q->loop = l;
        q->options = *options;
        q->items = map_new(item_free);
        q->ready.offset = offsetof(struct item, ready);
        q->delayed.offset = offsetof(struct item, delayed);
        q->pump = loop_timer_new(l, pump, q);
        return q;
}

void queue_free(struct queue *q) {
        if (!q)
                return;
        loop_timer_free(q->pump);
        map_free(q->items);
        free(q->ready.items);
        free(q->delayed.items);
        free(q);
}
