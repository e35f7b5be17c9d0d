/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/files.h"

#include <errno.h>
#include <fcntl.h>

static void close_fd(const int *fd) {
        if (*fd >= 0)
                close(*fd);
}

int files_read(const char *path, struct buf *out, struct err *err) {
        _cleanup_(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

        if (fd < 0)
                return err_set_errno(err, errno, "cannot read %s", path);
        for (;;) {
                char chunk[4096];
                ssize_t n = read(fd, chunk, sizeof chunk);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EISDIR)
                        return err_set(err, ERR_INVAL, "%s is a folder, not a file", path);
                if (n < 0)
                        return err_set_errno(err, errno, "cannot read %s", path);
                if (n == 0)
                        return buf_check(out, path, err);
                buf_add(out, (struct str){ chunk, (size_t)n });
                if (out->overflow)
                        return buf_check(out, path, err);
        }
}

int files_read_pem(const struct kube_pem *pem, struct buf *out, struct err *err) {
        if (!pem->data)
                return files_read(pem->path, out, err);
        buf_add(out, (struct str){ pem->data, pem->data_bytes });
        return buf_check(out, pem->origin, err);
}
