// SPDX-License-Identifier: Apache-2.0

// compact drops etcd's history up to now, so that a watch or a continued list
// that names an older resourceVersion is answered 410 Gone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
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

	client, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{*endpoint},
		DialTimeout: compactTimeout,
		Logger:      zap.NewNop(),
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
	_, err = client.Compact(ctx, revision, clientv3.WithCompactPhysical())
	if err != nil && !errors.Is(err, rpctypes.ErrCompacted) { // nothing new since the last time
		return err
	}
	fmt.Println(revision)
	return nil
}
