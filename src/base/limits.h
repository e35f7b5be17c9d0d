/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every cap on bytes, counts and depths that come from outside, with its unit and reason. Passing one is ERR_LIMIT.
 * Each row has a test at the limit and above it.
 */
#ifndef TRUCE_BASE_LIMITS_H
#define TRUCE_BASE_LIMITS_H

#include <stdint.h>

#define KIB 1024
#define MIB (1024 * 1024)

/*
 * JSON and YAML. CRDs of the field nest 35 deep; libyaml's scanner is quadratic in depth, so the cap must bite early.
 */
#define JSON_MAX_DEPTH 256
#define OBJECT_MAX_DEPTH (JSON_MAX_DEPTH - 5)   /* in Git: managedFields repeat an object's fields five levels deeper */
#define JSON_MAX_BYTES (64 * MIB)               /* one text; what we read is far smaller (KUBE_MAX_REPLY_BYTES) */
#define YAML_MAX_DEPTH 128
#define YAML_MAX_NODES 1000000                 /* nodes of one file, aliases expanded */
#define YAML_MAX_SCALAR_BYTES (3 * MIB)        /* the API server refuses bodies over 3 MiB */
#define YAML_MAX_DOCUMENT_BYTES (16 * MIB)     /* one file with all its documents */
#define YAML_MAX_DOCUMENTS 100000              /* of one file; also the empty ones */

/* Kubernetes API. etcd holds 1.5 MiB; with managedFields and JSON blow-up a single object stays below this. */
#define KUBE_MAX_OBJECT_BYTES (8 * MIB)
#define KUBE_MAX_REPLY_BYTES (32 * MIB)        /* a collected reply: discovery, OpenAPI, Status */
#define KUBE_MAX_ERROR_BYTES (256 * KIB)       /* the body of a refusal */
#define KUBE_MAX_REQUEST_BYTES (3 * MIB)       /* the server's own limit */
#define KUBE_MAX_PATH_BYTES (8 * KIB)
#define KUBE_LIST_PAGE_ITEMS 500

/* Git. */
#define GIT_MAX_BLOB_BYTES (16 * MIB)
#define GIT_MAX_TREE_FILES 50000
#define GIT_MAX_PATH_BYTES 4096
#define GIT_MAX_PATH_DEPTH 64
#define GIT_MAX_LINK_HOPS 16
#define GIT_MAX_REFS_BYTES (16 * MIB)

/* Manifests: all files of one application (Argo CD's cap is 10 M), and its objects. */
#define MANIFEST_MAX_TOTAL_BYTES (64 * MIB)
#define MANIFEST_MAX_OBJECTS 20000

/* Files of ours: configuration, kubeconfig, tokens. */
#define CONFIG_MAX_FILE_BYTES (4 * MIB)
#define CONFIG_MAX_TOKEN_BYTES (64 * KIB)

/*
 * jq rules (agent/jq.h). A Deployment selects a handful of paths; `..` on a large one thousands. Compiled programs take
 * 6 KiB each. The address space is that of the worker; the program and its libraries take 28 MiB of it.
 */
#define JQ_MAX_PROGRAM_BYTES (16 * KIB)
#define JQ_MAX_PROGRAMS 1000
#define JQ_MAX_PATHS 20000
#define JQ_MAX_PATHS_BYTES (4 * MIB)           /* as JSON */
#define JQ_MAX_MEMORY_BYTES (256 * MIB)

/*
 * Health scripts (lua/script.h). Parsing is not interrupted, so it is short (some 0.2 s for the worst); a step on a
 * string of 4 MiB takes some 30 ms at worst, and etcd holds 1.5 MiB an object. Argo CD's contract wants a table of two
 * strings.
 */
#define LUA_MAX_MEMORY_BYTES (16 * MIB)        /* of one evaluation */
#define LUA_MAX_MS 1000                        /* the same, of the thread's processor time */
#define LUA_MAX_SCRIPT_BYTES (64 * KIB)
#define LUA_MAX_LOADED_BYTES (64 * KIB)
#define LUA_MAX_STRING_BYTES (4 * MIB)
#define LUA_MAX_LINE 1000000                   /* a script's first line in its file */
#define LUA_MAX_MESSAGE_BYTES 1024
#define LUA_MAX_PRINTED_BYTES (64 * KIB)       /* of one evaluation */
#define LUA_MAX_RETURNED_VALUES 10000
#define LUA_MAX_RETURNED_BYTES MIB
#define LUA_MAX_RETURNED_DEPTH 64

/* Groups: the list of hosts in a variable of a container. Linux takes no string above 128 KiB (MAX_ARG_STRLEN). */
#define GROUP_MAX_VARIABLE_BYTES (120 * KIB)

/* Child processes: bytes kept of standard output and error when the caller names nothing smaller. */
#define CHILD_MAX_OUTPUT_BYTES (64 * MIB)
#define CHILD_MAX_STDERR_BYTES (64 * KIB)
#define CHILD_MAX_UNSENT_BYTES (64 * MIB)      /* in a conversation: what waits until the child reads it */

#endif
