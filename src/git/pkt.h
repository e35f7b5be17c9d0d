/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pkt-line framing of the Git protocols (gitprotocol-common(5)) and the two ref listings made of it: the answer to
 * protocol v2's ls-refs (gitprotocol-v2(5)) and the ref advertisement of v0 and v1 (gitprotocol-pack(5)).
 *
 * Pure parsers over bytes that came in whole. PARSE for anything malformed, UNSUPPORTED for SHA-256 repositories, and
 * the server's own words for an "ERR" packet (NOTFOUND, as that is what upload-pack uses it for).
 */
#ifndef TRUCE_GIT_PKT_H
#define TRUCE_GIT_PKT_H

#include "base/buf.h"
#include "git/refs.h"

enum pkt_kind { PKT_DATA, PKT_FLUSH, PKT_DELIM, PKT_END };

#define PKT_MAX_BYTES 65520

/* Takes one packet off *rest. PARSE when it is malformed or cut. `ret_data` is without a final newline. */
int pkt_next(struct str *rest, enum pkt_kind *ret_kind, struct str *ret_data, struct err *err);

/* Appends one data packet; `data` must stay below PKT_MAX_BYTES - 4. */
void pkt_add(struct buf *b, struct str data);

/* What a server said in answer to GET info/refs. */
struct pkt_advert {
        bool v2;                  /* `refs` is empty, ask with ls-refs */
        struct git_ref_list refs; /* v0 and v1 */
};

int pkt_parse_advert(struct str body, struct arena *a, struct pkt_advert *ret, struct err *err);
int pkt_parse_ls_refs(struct str body, struct arena *a, struct git_ref_list *ret, struct err *err);

/* The body of an ls-refs request for refs that begin with one of the prefixes. */
void pkt_add_ls_refs(struct buf *b, const struct str *prefixes, size_t count);

#endif
