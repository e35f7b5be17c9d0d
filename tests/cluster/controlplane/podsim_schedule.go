// SPDX-License-Identifier: Apache-2.0

// podsim's scheduler, for where it matters which Node a pod is on: one pass over all pods that wait, in a scheduler's
// order, whenever a pod or a Node came, went or changed.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"truce.dev/tests/cluster/controlplane/sim"
)

const (
	scheduleAfter = 5 * time.Millisecond // what happens together is looked at together
	scheduleAgain = 200 * time.Millisecond
)

type scheduler struct {
	signal chan struct{}
	mu     sync.Mutex
	bound  map[types.UID]string // bound by us: the cache may not know yet
}

func newScheduler() *scheduler {
	return &scheduler{signal: make(chan struct{}, 1), bound: map[types.UID]string{}}
}

func (c *scheduler) wake() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

func (c *scheduler) forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.bound, uid)
}

// place says where a pod is, as far as anybody knows.
func (c *scheduler) place(pod *corev1.Pod) *corev1.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	node := c.bound[pod.UID]
	if node == "" || pod.Spec.NodeName != "" {
		delete(c.bound, pod.UID)
		return pod
	}
	pod = pod.DeepCopy()
	pod.Spec.NodeName = node
	return pod
}

func (c *scheduler) note(uid types.UID, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bound[uid] = node
}

func (s *podsim) schedule(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.scheduler.signal:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(scheduleAfter):
		}
		if err := s.schedulePass(ctx); err != nil && ctx.Err() == nil {
			if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				fmt.Fprintf(os.Stderr, "podsim: scheduling: %v\n", err)
			}
			time.AfterFunc(scheduleAgain, s.scheduler.wake)
		}
	}
}

func (s *podsim) schedulePass(ctx context.Context) error {
	if s.onlyNode() != "" {
		return nil // sync binds
	}
	all, err := s.pods.List(labels.Everything())
	if err != nil {
		return err
	}
	var waiting []*corev1.Pod
	for i, pod := range all {
		all[i] = s.scheduler.place(pod)
		if all[i].Spec.NodeName == "" && pod.DeletionTimestamp == nil && sim.WantsBinding(pod) {
			waiting = append(waiting, pod)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	cluster := sim.NewCluster(s.simulated(), all, s.namespaceLabels())
	sim.InOrder(waiting)
	return s.placeAll(ctx, cluster, waiting)
}

// placeAll looks again at those that found no place, as long as others found one that may have been what they waited
// for. A pod that cannot be bound is no reason to stop.
func (s *podsim) placeAll(ctx context.Context, cluster *sim.Cluster, waiting []*corev1.Pod) (failure error) {
	why := map[types.UID]string{}
	for isMoving := true; isMoving; {
		isMoving = false
		var left []*corev1.Pod
		for _, pod := range waiting {
			node, whyNot := cluster.Place(pod)
			if node == "" {
				why[pod.UID] = whyNot
				left = append(left, pod)
				continue
			}
			isMoving = true
			if err := s.bind(ctx, pod, node); err != nil {
				failure = err
				continue
			}
			s.scheduler.note(pod.UID, node)
		}
		waiting = left
	}
	for _, pod := range waiting {
		if err := s.writeStatus(ctx, pod, sim.Unschedulable(pod, why[pod.UID], time.Now()), "kube-scheduler"); err != nil {
			failure = err
		}
	}
	return failure
}

func (s *podsim) namespaceLabels() map[string]labels.Set {
	sets := map[string]labels.Set{}
	all, err := s.namespaces.List(labels.Everything())
	if err != nil {
		return sets
	}
	for _, namespace := range all {
		sets[namespace.Name] = labels.Set(namespace.Labels)
	}
	return sets
}
