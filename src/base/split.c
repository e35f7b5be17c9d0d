/* SPDX-License-Identifier: Apache-2.0 */
#include "base/split.h"

#include "base/limits.h"

/* Where in a List reply the next byte stands. */
enum place {
        PLACE_START,      /* before the top-level map */
        PLACE_SHELL,      /* in it, outside of the items */
        PLACE_ITEM_FIRST, /* just inside "items":[ */
        PLACE_ITEM_NEXT,  /* after the comma that promises an item */
        PLACE_ITEM,       /* in an item that is a list, a map or a string */
        PLACE_ITEM_BARE,  /* in an item that is a number or a word */
        PLACE_ITEM_AFTER, /* after an item, before , or ] */
        PLACE_END,        /* after the top-level map */
};

/* What a byte does to nesting: enough JSON to know where a value ends. */
struct nest {
        size_t depth;
        bool in_string;
        bool escaped;
};

struct split_list {
        split_piece_fn fn;
        void *ctx;
        enum place place;
        struct nest nest; /* of the shell, or of the item while in one */
        struct buf shell;
        struct buf item; /* the part of an item that came in earlier chunks */
        size_t key_at;   /* where in the shell the last top-level key begins */
        bool want_key;   /* the next top-level string is a key */
        bool at_items;   /* the next top-level value belongs to the key "items" */
        int failed;      /* a failure is final */
};

struct split_list *split_list_new(size_t max_item_bytes, split_piece_fn item, void *ctx) {
        struct split_list *s = mem_zalloc(sizeof *s);

        s->fn = item;
        s->ctx = ctx;
        s->shell = buf_make(KUBE_MAX_ERROR_BYTES);
        s->item = buf_make(max_item_bytes);
        return s;
}

void split_list_free(struct split_list *s) {
        if (!s)
                return;
        buf_done(&s->shell);
        buf_done(&s->item);
        free(s);
}

static bool is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_one_of(char c, struct str set) {
        return str_find(set, c, 0) >= 0;
}

static void nest_string_byte(struct nest *n, char c) {
        if (n->escaped)
                n->escaped = false;
        else if (c == '\\')
                n->escaped = true;
        else if (c == '"')
                n->in_string = false;
}

/* Takes one byte; false for a closing bracket that nothing opened. */
static bool nest_byte(struct nest *n, char c) {
        if (n->in_string) {
                nest_string_byte(n, c);
                return true;
        }
        if (c == '"')
                n->in_string = true;
        else if (c == '{' || c == '[')
                n->depth++;
        else if (c == '}' || c == ']')
                return n->depth-- > 0;
        return true;
}

static int not_a_list(const char *why, struct err *err) {
        return err_set(err, ERR_PARSE, "not a list in JSON: %s", why);
}

static int start_byte(struct split_list *s, char c, struct err *err) {
        if (is_blank(c))
                return 0;
        if (c != '{')
                return not_a_list("it does not begin with {", err);

        buf_addch(&s->shell, c);
        s->nest = (struct nest){ .depth = 1 };
        s->want_key = true;
        s->place = PLACE_SHELL;
        return 0;
}

/* The byte stands directly in the top-level map, outside of strings. */
static void top_level_byte(struct split_list *s, char c) {
        if (c == '"') {
                s->key_at = s->shell.n;
        } else if (c == ',') {
                s->want_key = true;
                s->at_items = false;
        } else if (c == '[' && s->at_items) {
                s->place = PLACE_ITEM_FIRST;
        }
}

/* A string directly in the top-level map just ended, with its closing quote in the shell. */
static int top_level_string(struct split_list *s, struct err *err) {
        struct str text = str_sub(buf_str(&s->shell), s->key_at, s->shell.n);

        if (!s->want_key)
                return 0;
        s->want_key = false;
        /* An escaped spelling of "items" would hide the items from us; no server writes one. */
        if (str_find(text, '\\', 0) >= 0)
                return not_a_list("escape in a top-level key", err);
        s->at_items = str_eqc(text, "\"items\"");
        return 0;
}

static int shell_byte(struct split_list *s, char c, struct err *err) {
        bool was_string = s->nest.in_string;
        bool top = s->nest.depth == 1;

        if (top && !was_string)
                top_level_byte(s, c);
        if (!nest_byte(&s->nest, c))
                return not_a_list("unbalanced brackets", err);
        buf_addch(&s->shell, c);
        if (s->shell.overflow)
                return buf_check(&s->shell, "the part of a list around its items", err);
        if (s->nest.depth == 0)
                s->place = PLACE_END;
        if (top && was_string && !s->nest.in_string)
                return top_level_string(s, err);
        return 0;
}

/* Between items. Leaves the place in PLACE_ITEM or PLACE_ITEM_BARE when the byte begins one. */
static int gap_byte(struct split_list *s, char c, struct err *err) {
        if (is_blank(c))
                return 0;
        if (c == ']' && s->place != PLACE_ITEM_NEXT) {
                s->nest = (struct nest){ .depth = 1 };
                s->at_items = false;
                buf_addch(&s->shell, c);
                s->place = PLACE_SHELL;
                return buf_check(&s->shell, "the part of a list around its items", err);
        }
        if (s->place == PLACE_ITEM_AFTER) {
                if (c != ',')
                        return not_a_list("items without a comma between them", err);
                s->place = PLACE_ITEM_NEXT;
                return 0;
        }
        if (is_one_of(c, STR(",]}:")))
                return not_a_list("an item is missing", err);

        s->nest = (struct nest){ 0 };
        s->place = is_one_of(c, STR("{[\"")) ? PLACE_ITEM : PLACE_ITEM_BARE;
        return 0;
}

/* The item began at or before chunk[from]; returns where its last byte in this chunk ends. */
static size_t item_end(struct split_list *s, struct str chunk, size_t from) {
        size_t i = from;

        for (; i < chunk.n && s->place == PLACE_ITEM; i++) {
                /* A bracket that nothing opened cannot come first: gap_byte() saw an opening one or a quote. */
                nest_byte(&s->nest, chunk.p[i]);
                if (s->nest.depth == 0 && !s->nest.in_string)
                        s->place = PLACE_ITEM_AFTER;
        }
        for (; i < chunk.n && s->place == PLACE_ITEM_BARE; i++) {
                if (!is_blank(chunk.p[i]) && !is_one_of(chunk.p[i], STR(",]}")))
                        continue;
                s->place = PLACE_ITEM_AFTER;
                break;
        }
        return i;
}

/* Hands an item out when it is complete; one that lies in one chunk is not copied. */
static int take_item(struct split_list *s, struct str chunk, size_t from, size_t *ret_end, struct err *err) {
        size_t end = item_end(s, chunk, from);
        struct str piece = str_sub(chunk, from, end);
        int r;

        *ret_end = end;
        if (s->place != PLACE_ITEM_AFTER || s->item.n || piece.n > s->item.max) {
                buf_add(&s->item, piece);
                piece = buf_str(&s->item);
        }
        r = buf_check(&s->item, "an item of a list", err);
        if (r < 0 || s->place != PLACE_ITEM_AFTER)
                return r;
        r = s->fn(s->ctx, piece, err);
        buf_clear(&s->item);
        return r;
}

static int feed_byte(struct split_list *s, char c, struct err *err) {
        switch (s->place) {
        case PLACE_START:
                return start_byte(s, c, err);
        case PLACE_SHELL:
                return shell_byte(s, c, err);
        case PLACE_END:
                return is_blank(c) ? 0 : not_a_list("more text after it", err);
        default:
                return gap_byte(s, c, err);
        }
}

static bool in_item(const struct split_list *s) {
        return s->place == PLACE_ITEM || s->place == PLACE_ITEM_BARE;
}

int split_list_feed(struct split_list *s, struct str chunk, struct err *err) {
        if (s->failed)
                return err_set(err, s->failed, "the list failed before");

        for (size_t i = 0; i < chunk.n && !s->failed;) {
                if (!in_item(s))
                        s->failed = feed_byte(s, chunk.p[i], err);
                if (in_item(s) && !s->failed)
                        s->failed = take_item(s, chunk, i, &i, err);
                else
                        i++;
        }
        return s->failed;
}

int split_list_end(struct split_list *s, struct str *ret_shell, struct err *err) {
        if (s->failed)
                return err_set(err, s->failed, "the list failed before");
        if (s->place != PLACE_END)
                return not_a_list("it ends early", err);

        *ret_shell = buf_str(&s->shell);
        return 0;
}

struct split_lines split_lines_make(size_t max_line_bytes) {
        return (struct split_lines){ .rest = buf_make(max_line_bytes) };
}

void split_lines_done(struct split_lines *s) {
        buf_done(&s->rest);
}

int split_lines_feed(struct split_lines *s, struct str chunk, split_piece_fn line, void *ctx, struct err *err) {
        while (chunk.n) {
                ptrdiff_t newline = str_find(chunk, '\n', 0);
                struct str piece = newline < 0 ? chunk : str_sub(chunk, 0, (size_t)newline);

                chunk = newline < 0 ? (struct str){ 0 } : str_sub(chunk, (size_t)newline + 1, chunk.n);
                if (newline < 0 || s->rest.n || piece.n > s->rest.max) {
                        buf_add(&s->rest, piece);
                        piece = buf_str(&s->rest);
                }
                int r = buf_check(&s->rest, "a line of a stream", err);
                if (r == 0 && newline >= 0 && str_trim(piece).n)
                        r = line(ctx, str_trim(piece), err);
                if (r < 0)
                        return r;
                if (newline >= 0)
                        buf_clear(&s->rest);
        }
        return 0;
}
