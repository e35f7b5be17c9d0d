/* SPDX-License-Identifier: Apache-2.0 */
#include "git/refs.h"

#include "base/buf.h"
#include "git/semver.h"

#define TAGS "refs/tags/"
#define HEADS "refs/heads/"
#define NEAREST 3
#define LISTED_COMMITS 5
#define COMPARED_BYTES 64
/* Farther than this many edits is no typing error any more. */
#define NEAR_EDITS 3

static int hex_value(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_hex(struct str s) {
        for (size_t i = 0; i < s.n; i++) {
                if (hex_value(s.p[i]) < 0)
                        return false;
        }
        return true;
}

bool git_id_from_hex(struct str hex, struct git_id *ret) {
        struct git_id id;

        if (hex.n != GIT_OID_HEX_BYTES)
                return false;
        for (size_t i = 0; i < GIT_OID_BYTES; i++) {
                int high = hex_value(hex.p[2 * i]), low = hex_value(hex.p[2 * i + 1]);

                if (high < 0 || low < 0)
                        return false;
                id.bytes[i] = (unsigned char)(high << 4 | low);
        }
        *ret = id;
        return true;
}

bool git_id_has_prefix(const struct git_id *id, struct str hex) {
        if (hex.n > GIT_OID_HEX_BYTES)
                return false;
        for (size_t i = 0; i < hex.n; i++) {
                int digit = i % 2 ? id->bytes[i / 2] & 15 : id->bytes[i / 2] >> 4;

                if (hex_value(hex.p[i]) != digit)
                        return false;
        }
        return true;
}

/* "prod/v1.*" has the prefix "prod/". Without a character that makes it a range, what holds a slash is a branch's name. */
static size_t prefix_bytes(struct str word) {
        static const char signs[] = "*^~<>=|, ";
        size_t n = word.n;
        bool sign = false;

        while (n > 0 && word.p[n - 1] != '/')
                sign |= strchr(signs, word.p[--n]) != NULL;
        return sign ? n : 0;
}

/* Nobody means a name by it. */
static bool looks_like_range(struct str word) {
        return strchr("><=^~!", word.p[0]) || str_find(word, '*', 0) >= 0;
}

/* What git-check-ref-format(1) forbids anywhere in a name; NULL when it is fine. */
static const char *forbidden_in_ref(struct str word) {
        static const struct str pieces[] = { { "..", 2 }, { "@{", 2 }, { "//", 2 }, { "/.", 2 }, { ".lock/", 6 } };

        for (size_t i = 0; i < word.n; i++) {
                unsigned char c = (unsigned char)word.p[i];

                if (c < 0x20 || c == 0x7f)
                        return "holds a control character";
                if (strchr(" ~^:?*[\\", c))
                        return "holds a character that no ref may hold";
        }
        for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
                if (str_contains(word, pieces[i]))
                        return "is no legal name of a ref";
        }
        if (word.p[0] == '/' || word.p[0] == '.' || str_ends(word, STR("/")) || str_ends(word, STR(".")) ||
            str_ends(word, STR(".lock")) || str_eq(word, STR("@")))
                return "is no legal name of a ref";
        return str_is_utf8(word) ? NULL : "is no UTF-8";
}

static bool is_range(struct str word) {
        size_t prefix = prefix_bytes(word);
        struct semver_range range;

        return (prefix == 0 || !forbidden_in_ref(str_sub(word, 0, prefix - 1))) &&
               semver_range_parse(str_sub(word, prefix, word.n), &range);
}

/* At most 80 bytes of the word with everything that could disturb a terminal taken out. */
static struct buf shown(struct str word) {
        struct buf b = buf_make(512);

        for (size_t i = 0; i < word.n && i < 80; i++) {
                unsigned char c = (unsigned char)word.p[i];

                if (c < 0x20 || c >= 0x7f)
                        buf_addf(&b, "\\x%02x", c);
                else
                        buf_addch(&b, (char)c);
        }
        if (word.n > 80)
                buf_addc(&b, "\xe2\x80\xa6");
        return b;
}

static int refuse_word(struct str word, enum err_code code, const char *why, struct err *err) {
        _cleanup_(buf_done) struct buf b = shown(word);

        return err_set(err, code, "revision \"%s\" %s", b.p, why);
}

int git_word_check(struct str word, enum git_word_kind *ret_kind, struct git_id *ret_id, struct err *err) {
        const char *why;

        if (word.n == 0) {
                *ret_kind = GIT_WORD_NAME;
                return 0;
        }
        if (git_id_from_hex(word, ret_id)) {
                *ret_kind = GIT_WORD_COMMIT;
                return 0;
        }
        if (word.n > GIT_REVISION_MAX_BYTES)
                return refuse_word(word, ERR_INVAL, "is longer than 1024 bytes", err);
        if (word.p[0] == '-')
                return refuse_word(word, ERR_INVAL, "begins with \"-\"", err);
        if (is_range(word)) {
                *ret_kind = GIT_WORD_RANGE;
                return 0;
        }
        if (looks_like_range(word))
                return refuse_word(word, ERR_INVAL, "is no range of versions that can be read, and no name of a ref", err);
        why = forbidden_in_ref(word);
        if (why)
                return refuse_word(word, ERR_INVAL, why, err);
        *ret_kind = is_hex(word) && word.n >= GIT_SHORT_COMMIT_DIGITS && word.n < GIT_OID_HEX_BYTES ? GIT_WORD_SHORT
                                                                                                    : GIT_WORD_NAME;
        return 0;
}

static size_t range_names(struct str word, struct arena *a, struct str ret_names[GIT_WORD_MAX_NAMES]) {
        size_t n = 0;

        ret_names[n++] = arena_strf(a, TAGS "%.*s", STR_FMT(str_sub(word, 0, prefix_bytes(word))));
        if (forbidden_in_ref(word))
                return n;
        ret_names[n++] = arena_strf(a, HEADS "%.*s", STR_FMT(word));
        ret_names[n++] = arena_strf(a, TAGS "%.*s", STR_FMT(word));
        return n;
}

size_t git_word_names(struct str word, struct arena *a, struct str ret_names[GIT_WORD_MAX_NAMES]) {
        size_t n = 0;

        if (word.n == 0 || str_eq(word, STR("HEAD"))) {
                ret_names[n++] = STR("HEAD");
                return n;
        }
        if (is_range(word))
                return range_names(word, a, ret_names);
        if (str_starts(word, STR("refs/")))
                ret_names[n++] = arena_str(a, word);
        ret_names[n++] = arena_strf(a, "refs/heads/%.*s", STR_FMT(word));
        ret_names[n++] = arena_strf(a, "refs/tags/%.*s", STR_FMT(word));
        if (str_starts(word, STR("heads/")) || str_starts(word, STR("tags/")))
                ret_names[n++] = arena_strf(a, "refs/%.*s", STR_FMT(word));
        return n;
}

/* The version that a tag's name is, behind the prefix; false: it is none. */
static bool version_of(const struct git_ref *ref, struct str prefix, struct semver *ret) {
        struct str name = ref->name;

        if (!str_starts(name, STR(TAGS)))
                return false;
        name = str_sub(name, sizeof TAGS - 1, name.n);
        return str_starts(name, prefix) && semver_parse(str_sub(name, prefix.n, name.n), ret);
}

/* `range` NULL: of all versions. */
static const struct git_ref *find_highest(struct git_ref_list list, struct str prefix, const struct semver_range *range) {
        const struct git_ref *best = NULL;
        struct semver highest, v;

        for (size_t i = 0; i < list.count; i++) {
                const struct git_ref *ref = &list.refs[i];

                if (!version_of(ref, prefix, &v) || (range && !semver_range_has(range, &v)))
                        continue;
                int r = best ? semver_cmp(&v, &highest) : 1;
                if (r < 0 || (r == 0 && str_cmp(ref->name, best->name) > 0))
                        continue;
                best = ref;
                highest = v;
        }
        return best;
}

static const struct git_ref *find_in_range(struct git_ref_list list, struct str word) {
        size_t prefix = prefix_bytes(word);
        struct semver_range range;

        if (!semver_range_parse(str_sub(word, prefix, word.n), &range))
                return NULL;
        return find_highest(list, str_sub(word, 0, prefix), &range);
}

const struct git_ref *git_refs_find(struct git_ref_list list, struct str word, struct arena *a) {
        struct str names[GIT_WORD_MAX_NAMES];
        size_t n = git_word_names(word, a, names);
        const struct git_ref *newest = find_in_range(list, word);

        if (newest)
                return newest;
        for (size_t i = 0; i < n; i++) {
                for (size_t j = 0; j < list.count; j++) {
                        if (str_eq(list.refs[j].name, names[i]))
                                return &list.refs[j];
                }
        }
        return NULL;
}

int git_refs_find_short(struct git_ref_list list, struct str hex, struct git_id *ret, struct err *err) {
        struct git_id found[LISTED_COMMITS];
        size_t n = 0;

        for (size_t i = 0; i < list.count && n < LISTED_COMMITS; i++) {
                struct git_id id = git_ref_commit(&list.refs[i]);
                bool known = false;

                for (size_t k = 0; k < n; k++)
                        known = known || git_id_eq(&found[k], &id);
                if (!known && git_id_has_prefix(&id, hex))
                        found[n++] = id;
        }
        if (n == 0)
                return err_set(err, ERR_NOTFOUND, "no commit begins with %.*s", STR_FMT(hex));
        if (n == 1) {
                *ret = found[0];
                return 0;
        }

        _cleanup_(buf_done) struct buf b = buf_make(KIB);
        for (size_t k = 0; k < n; k++) {
                char text[GIT_OID_HEX_BYTES + 1];

                git_id_hex(&found[k], text);
                buf_addf(&b, "%s%s", k ? ", " : "", text);
        }
        return err_set(err, ERR_INVAL, "commit %.*s is ambiguous: %s", STR_FMT(hex), b.p);
}

static struct str short_name(struct str name) {
        static const struct str prefixes[] = { { "refs/heads/", 11 }, { "refs/tags/", 10 } };

        for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
                if (str_starts(name, prefixes[i]))
                        return str_sub(name, prefixes[i].n, name.n);
        }
        return STR("");
}

/* Levenshtein's distance of the first COMPARED_BYTES bytes. */
static unsigned edits(struct str a, struct str b) {
        unsigned row[COMPARED_BYTES + 1];

        a = str_sub(a, 0, COMPARED_BYTES);
        b = str_sub(b, 0, COMPARED_BYTES);
        for (unsigned j = 0; j <= b.n; j++)
                row[j] = j;
        for (unsigned i = 1; i <= a.n; i++) {
                unsigned diagonal = row[0];

                row[0] = i;
                for (unsigned j = 1; j <= b.n; j++) {
                        unsigned replace = diagonal + (a.p[i - 1] != b.p[j - 1]);
                        unsigned shift = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

                        diagonal = row[j];
                        row[j] = replace < shift ? replace : shift;
                }
        }
        return row[b.n];
}

/* Smaller is nearer; above NEAR_EDITS is not near. A name that holds the word (or the reverse) counts as near. */
static unsigned distance(struct str name, struct str word) {
        unsigned d = edits(name, word);
        size_t shorter = name.n < word.n ? name.n : word.n;

        if (d >= shorter)
                d = NEAR_EDITS + 1; /* nothing in common */
        if (d > NEAR_EDITS && shorter >= 3 && (str_contains(name, word) || str_contains(word, name)))
                d = NEAR_EDITS;
        return d;
}

struct near {
        struct str name;
        unsigned distance;
};

/* Keeps the NEAREST best, nearest first. */
static void insert_near(struct near *best, size_t *n, struct near candidate) {
        size_t at = *n;

        while (at > 0 &&
               (best[at - 1].distance > candidate.distance ||
                (best[at - 1].distance == candidate.distance && str_cmp(best[at - 1].name, candidate.name) > 0)))
                at--;
        if (at == NEAREST)
                return;
        if (*n < NEAREST)
                (*n)++;
        memmove(best + at + 1, best + at, (*n - at - 1) * sizeof *best);
        best[at] = candidate;
}

static int no_version(struct git_ref_list list, struct str word, struct err *err) {
        _cleanup_(buf_done) struct buf range = shown(word);
        const struct git_ref *highest = find_highest(list, str_sub(word, 0, prefix_bytes(word)), NULL);
        _cleanup_(buf_done) struct buf name = shown(highest ? short_name(highest->name) : STR(""));

        return err_set(err, ERR_NOTFOUND, "no tag is in the range \"%s\"; %s%s", range.p,
                       highest ? "the highest version among the tags is " : "no tag is a version", name.n ? name.p : "");
}

int git_refs_not_found(struct git_ref_list list, struct str word, struct err *err) {
        _cleanup_(buf_done) struct buf name = shown(word.n ? word : STR("HEAD"));
        _cleanup_(buf_done) struct buf hint = buf_make(KIB);
        struct near best[NEAREST];
        size_t n = 0, names = 0;

        if (is_range(word))
                return no_version(list, word, err);
        if (list.count == 0)
                return err_set(err, ERR_NOTFOUND, "revision \"%s\" not found: the repository is empty", name.p);

        for (size_t i = 0; i < list.count; i++) {
                struct str s = short_name(list.refs[i].name);
                struct near candidate = { s, distance(s, word) };

                names += s.n > 0;
                if (s.n > 0 && candidate.distance <= NEAR_EDITS)
                        insert_near(best, &n, candidate);
        }
        for (size_t i = 0; i < n; i++) {
                _cleanup_(buf_done) struct buf b = shown(best[i].name);

                buf_addf(&hint, "%s\"%s\"", i ? ", " : "; near it: ", b.p);
        }
        return err_set(err, ERR_NOTFOUND, "revision \"%s\" not found among %zu branches and tags%s", name.p, names,
                       hint.p);
}
