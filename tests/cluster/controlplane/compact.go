// SPDX-License-Identifier: Apache-2.0

// compact drops etcd's history up to now, so that a watch or a continued list
// that names an older resourceVersion is answered 410 Gone.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/grpclog"
)

const compactTimeout = 10 * time.Second

// runCompact prints the revision that it compacted to: the newest one, which
// is the oldest that can still be read.
func runCompact(args []string) error {
	flags := flag.NewFlagSet("compact", flag.ExitOnError)
	endpoint := flags.String("etcd", "", "client URL of etcd")
	if err := flags.Parse(args); err != nil {
		return err
	}

	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{*endpoint},
		DialTimeout: compactTimeout,
	})
	if err != nil {
		return err
	}
	defer client.Close()

	ctx, cancel := context.WithTimeout(context.Background(), compactTimeout)
	defer cancel()
	head, err := client.Get(ctx, "/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return err
	}
	revision := head.Header.Revision
	if _, err := client.Compact(ctx, revision, clientv3.WithCompactPhysical()); err != nil {
		return err
	}
	fmt.Println(revision)
	return nil
}
