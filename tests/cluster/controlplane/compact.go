package main

import (
	_ "go.etcd.io/etcd/client/v3"
)

func runCompact(args []string) error { return nil }
