// SPDX-License-Identifier: Apache-2.0

// podsim's Nodes: made at the start and kept, with fresh Leases; those of others that ask to be simulated; those that
// are down. Controllers write to Nodes too, so each write begins from what is there.
package main

import (
	"context"
	"errors"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"truce.dev/tests/cluster/controlplane/sim"
)

const podsimHeartbeat = 10 * time.Second // the node controller gives up after 40 s

type nodeState int

const (
	nodeForeign nodeState = iota // nobody here answers for it
	nodeUp
	nodeDown
)

// fleet is what podsim keeps by itself.
type fleet struct {
	isEndless bool // one Node that takes everything
	mu        sync.Mutex
	own       map[string]*corev1.Node // as they are made
	lost      map[string]bool         // deleted while they were down: they stay away
}

func newFleet(name string, count, zones int, size sim.Size) (*fleet, error) {
	f := &fleet{isEndless: count == 0, own: map[string]*corev1.Node{}, lost: map[string]bool{}}
	if f.isEndless {
		if zones != 0 || size != (sim.Size{CPU: "1000", Memory: "4Ti", GPU: "0"}) {
			return nil, errors.New("--zones and --node-… say what --nodes are like: give it too")
		}
		f.own[name] = sim.NewNode(name)
		return f, nil
	}
	if count < 0 || zones < 0 || count > 5000 {
		return nil, errors.New("--nodes, --zones: numbers from 1 to 5000")
	}
	nodes, err := sim.NewNodes(count, zones, size)
	for _, node := range nodes {
		f.own[node.Name] = node
	}
	return f, err
}

func (f *fleet) isOwn(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.own[name] != nil && !f.lost[name]
}

func (f *fleet) setLost(name string, isLost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost[name] = isLost
}

// kept are the Nodes that must be there.
func (f *fleet) kept() []*corev1.Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	var nodes []*corev1.Node
	for name, node := range f.own {
		if !f.lost[name] {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func (s *podsim) isSimulated(node *corev1.Node) bool {
	return s.fleet.isOwn(node.Name) || sim.IsSimulated(node)
}

// nodeOf says who answers for the pod. The Node is nil where it is missing for the moment.
func (s *podsim) nodeOf(pod *corev1.Pod) (*corev1.Node, nodeState) {
	node, err := s.nodes.Get(pod.Spec.NodeName)
	switch {
	case err != nil && s.fleet.isOwn(pod.Spec.NodeName):
		return nil, nodeUp
	case err != nil || !s.isSimulated(node):
		return nil, nodeForeign
	case sim.IsDown(node):
		return node, nodeDown
	}
	return node, nodeUp
}

// simulated are all Nodes that pods may be put on.
func (s *podsim) simulated() []*corev1.Node {
	all, err := s.nodes.List(labels.Everything())
	if err != nil {
		return nil
	}
	var nodes []*corev1.Node
	for _, node := range all {
		if s.isSimulated(node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// onlyNode is the name of the Node that takes everything, as long as it is alone and answers.
func (s *podsim) onlyNode() string {
	if !s.fleet.isEndless {
		return ""
	}
	for _, node := range s.simulated() {
		if !s.fleet.isOwn(node.Name) || sim.IsDown(node) {
			return ""
		}
	}
	for _, node := range s.fleet.kept() {
		return node.Name
	}
	return ""
}

// syncNode makes a Node say what it is, and looks at everything that this may change.
func (s *podsim) syncNode(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	node, err := s.nodes.Get(name.Name)
	if err != nil {
		return 0, err
	}
	s.fleet.setLost(node.Name, false) // it is back
	if !s.isSimulated(node) {
		return 0, nil
	}
	if !sim.IsSettled(node) {
		if err := s.settle(ctx, node); err != nil {
			return 0, err
		}
	}
	s.wakePods(node.Name)
	return 0, nil
}

func (s *podsim) nodeGone(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if node, ok := object.(*corev1.Node); ok {
		if sim.IsDown(node) {
			s.fleet.setLost(node.Name, true)
		}
		s.wakePods(node.Name)
	}
}

// wakePods: those of the Node, and those that wait for one.
func (s *podsim) wakePods(node string) {
	pods, err := s.pods.List(labels.Everything())
	if err != nil {
		return
	}
	for _, pod := range pods {
		if pod.Spec.NodeName == node || pod.Spec.NodeName == "" {
			enqueue(s.podQueue, pod)
		}
	}
}

// settle writes whether the Node answers: its status, then its taints, in a controller's order.
func (s *podsim) settle(ctx context.Context, node *corev1.Node) error {
	now, manager := metav1.Now().Rfc3339Copy(), "kubelet"
	if sim.IsDown(node) {
		manager = "kube-controller-manager"
	}
	node = node.DeepCopy()
	node.Status = sim.NodeStatus(node, now)
	nodes := s.client.CoreV1().Nodes()
	if _, err := nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{FieldManager: manager}); err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := nodes.Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		taints := sim.Taints(node, now)
		if len(taints) == len(node.Spec.Taints) {
			return nil
		}
		node.Spec.Taints = taints
		_, err = nodes.Update(ctx, node, metav1.UpdateOptions{FieldManager: "kube-controller-manager"})
		return err
	})
}

// heartbeat keeps the Nodes there and Ready, and their Leases fresh.
func (s *podsim) heartbeat(ctx context.Context) error {
	var failure error
	for _, wanted := range s.fleet.kept() {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { return s.keepNode(ctx, wanted) })
		failure = errors.Join(failure, err)
	}
	for _, node := range s.simulated() {
		if !sim.IsDown(node) && !s.fleet.isOwn(node.Name) {
			failure = errors.Join(failure, s.keepLease(ctx, node.Name))
		}
	}
	return failure
}

func (s *podsim) keepNode(ctx context.Context, wanted *corev1.Node) error {
	nodes := s.client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, wanted.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		node, err = nodes.Create(ctx, wanted, metav1.CreateOptions{})
	}
	if err == nil && !sim.IsSettled(node) {
		err = s.settle(ctx, node)
	}
	if err != nil || sim.IsDown(node) {
		return err
	}
	return s.keepLease(ctx, node.Name)
}

func (s *podsim) keepLease(ctx context.Context, node string) error {
	leases := s.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	seconds, now := int32(40), metav1.NowMicro()
	lease, err := leases.Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: node}}
		lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &node, LeaseDurationSeconds: &seconds, RenewTime: &now}
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	lease.Spec.RenewTime = &now
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}
