/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The demo's folder: a Git repository made of examples/shop (which the program carries with it), a configuration for
 * `truce --config`, and whatever else is put there. It is below $TMPDIR or /tmp, for its owner only, and goes as a
 * whole.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_CLI_DEMO_SHOP_H
#define TRUCE_CLI_DEMO_SHOP_H

#include "git/source.h"

struct shop;

/* `ns` is the namespace, and stands in the group of its custom resource too: NAMESPACE.example.io. */
int shop_new(struct str ns, struct shop **ret_shop, struct err *err);
/* Removes the folder. NULL is fine. */
void shop_free(struct shop *s);

/* "DIR", "DIR/shop", "DIR/truce.yaml". Live as long as the shop. */
const char *shop_dir(const struct shop *s);
const char *shop_repository(const struct shop *s);
const char *shop_config(const struct shop *s);

/* Writes the configuration; `kubeconfig` and `context` empty: what kubectl would use. */
int shop_write_config(struct shop *s, struct str kubeconfig, struct str context, struct str agent_ns, struct err *err);

/*
 * Commits the files as they came, with `from` replaced by `to` in one of them (NULL: none), and other replacements only
 * for this commit. NOTFOUND when `from` is not in that file.
 */
struct shop_change {
        const char *file, *from, *to;
};
int shop_commit(struct shop *s, const char *subject, const struct shop_change *changes, size_t count,
                struct git_id *ret_commit, struct err *err);

/* The line of the text in a file as it came; 0: not in it. */
unsigned shop_line(const struct shop *s, const char *file, const char *text);

#endif
