// SPDX-License-Identifier: Apache-2.0

// podsim plays scheduler and kubelet for clusters without machines: it keeps
// one Node alive, binds every pod to it, and makes pods Running and Ready
// after a delay. Nothing is executed. What it writes is what a kubelet writes:
// /binding, then /status, and a delete with grace period 0 to end a pod.
//
// A pod's annotations change its fate, also while it runs:
//
//	podsim.truce.dev/delay: 2s           ready after this long instead of --delay
//	podsim.truce.dev/hold: pending       never bound
//	podsim.truce.dev/hold: unready       Running, but not Ready
//	podsim.truce.dev/waiting: REASON     containers wait for that reason (CrashLoopBackOff …)
//	podsim.truce.dev/exit: "0"           containers end with this code after the delay: the pod
//	                                     becomes Succeeded (0) or Failed
//
// The pure part (which status a pod should have) is podstatus.go; workloads.go makes the pods of custom resources.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"net/netip"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
)

const (
	podsimWorkers   = 8
	podsimHeartbeat = 10 * time.Second // the node controller gives up after 40 s
)

type podsim struct {
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	pods     listersv1.PodLister
	queue    workqueue.TypedRateLimitingInterface[cache.ObjectName]
	nodeName string
	delay    time.Duration
	ips      ipPool
	bound    sync.Map // pod UID → time.Time, see boundAt
}

func runPodsim(args []string) error {
	flags := flag.NewFlagSet("podsim", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig file")
	nodeName := flags.String("node", "podsim", "name of the Node")
	delay := flags.Duration("delay", 200*time.Millisecond, "from binding to Ready")
	readyFile := flags.String("ready-file", "", "file to create once pods are being served")
	if err := flags.Parse(args); err != nil {
		return err
	}

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1 // no client-side limit
	config.UserAgent = "podsim"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}

	dynamicClient, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}

	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	sim := &podsim{
		client:   client,
		dynamic:  dynamicClient,
		nodeName: *nodeName,
		delay:    *delay,
		ips:      ipPool{owners: map[netip.Addr]types.UID{}},
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](20*time.Millisecond, 2*time.Second)),
	}
	return sim.run(ctx, *readyFile)
}

func (s *podsim) run(ctx context.Context, readyFile string) error {
	factory := informers.NewSharedInformerFactory(s.client, 0)
	informer := factory.Core().V1().Pods()
	s.pods = informer.Lister()
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    s.enqueue,
		UpdateFunc: func(_, pod any) { s.enqueue(pod) },
		DeleteFunc: s.forget,
	}); err != nil {
		return err
	}

	if err := s.heartbeat(ctx); err != nil {
		return err
	}
	go every(ctx, podsimHeartbeat, "heartbeat", s.heartbeat)
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		return ctx.Err()
	}
	if readyFile != "" {
		if err := os.WriteFile(readyFile, nil, 0o644); err != nil {
			return err
		}
	}

	var workers sync.WaitGroup
	for range podsimWorkers {
		workers.Go(func() { s.work(ctx) })
	}
	operator := workloads{client: s.client, dynamic: s.dynamic, pods: s.pods}
	workers.Go(func() { every(ctx, workloadInterval, "workloads", operator.syncAll) })
	<-ctx.Done()
	s.queue.ShutDown()
	workers.Wait()
	return nil
}

func (s *podsim) enqueue(object any) {
	if name, err := cache.ObjectToName(object); err == nil {
		s.queue.Add(name)
	}
}

func (s *podsim) forget(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if pod, ok := object.(*corev1.Pod); ok {
		s.ips.release(pod)
		s.bound.Delete(pod.UID)
	}
}

func (s *podsim) work(ctx context.Context) {
	for {
		name, shutdown := s.queue.Get()
		if shutdown {
			return
		}
		again, err := s.sync(ctx, name)
		switch {
		case err == nil || apierrors.IsNotFound(err):
			s.queue.Forget(name)
			if again > 0 {
				s.queue.AddAfter(name, again)
			}
		default:
			if !apierrors.IsConflict(err) {
				fmt.Fprintf(os.Stderr, "podsim: %s: %v\n", name, err)
			}
			s.queue.AddRateLimited(name)
		}
		s.queue.Done(name)
	}
}

// sync moves one pod one step on and says after which time to look again
// (0: when it changes).
func (s *podsim) sync(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	pod, err := s.pods.Pods(name.Namespace).Get(name.Name)
	if err != nil {
		return 0, err
	}
	if pod.Spec.NodeName == "" {
		if pod.DeletionTimestamp != nil || !wantsBinding(pod) {
			return 0, nil
		}
		return 0, s.bind(ctx, pod)
	}
	if pod.Spec.NodeName != s.nodeName {
		return 0, nil
	}
	if pod.DeletionTimestamp != nil {
		return 0, s.end(ctx, pod)
	}

	now := time.Now()
	bound, _ := s.bound.LoadOrStore(pod.UID, boundAt(pod, now))
	status, again := wantedStatus(pod, podStatusInput{
		now:     now,
		boundAt: bound.(time.Time),
		delay:   s.delay,
		podIP:   s.ips.claim(pod).String(),
		hostIP:  podsimHostIP,
	})
	if apiequality.Semantic.DeepEqual(*status, pod.Status) {
		return again, nil
	}
	return again, s.writeStatus(ctx, pod, status)
}

func (s *podsim) bind(ctx context.Context, pod *corev1.Pod) error {
	return s.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: s.nodeName},
	}, metav1.CreateOptions{})
}

// end finishes a deletion. With finalizers the pod outlives it, hence the look
// at the grace period: once is enough.
func (s *podsim) end(ctx context.Context, pod *corev1.Pod) error {
	if grace := pod.DeletionGracePeriodSeconds; grace != nil && *grace == 0 {
		return nil
	}
	options := metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	return s.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *options)
}

// writeStatus sends the whole status as a merge patch, as manager "kubelet";
// the uid keeps it from hitting a successor of the same name.
func (s *podsim) writeStatus(ctx context.Context, pod *corev1.Pod, status *corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"status":   status,
	})
	if err != nil {
		return err
	}
	_, err = s.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "kubelet"}, "status")
	return err
}

const podsimHostIP = "10.0.0.1"

// every does something until the context ends; errors are told and pass.
func every(ctx context.Context, interval time.Duration, what string, do func(context.Context) error) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := do(ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "podsim: %s: %v\n", what, err)
			}
		}
	}
}

// heartbeat keeps the Node there and Ready, and its Lease fresh. Controllers
// write to the Node too.
func (s *podsim) heartbeat(ctx context.Context) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { return s.keepNode(ctx) })
	if err != nil {
		return err
	}
	return s.keepLease(ctx)
}

func (s *podsim) keepNode(ctx context.Context) error {
	nodes := s.client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, s.nodeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		node, err = nodes.Create(ctx, newNode(s.nodeName), metav1.CreateOptions{})
	}
	if err != nil || nodeIsReady(node) {
		return err
	}
	node.Status = readyNodeStatus(s.nodeName, node.Status, metav1.Now())
	_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{FieldManager: "kubelet"})
	return err
}

func (s *podsim) keepLease(ctx context.Context) error {
	leases := s.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	seconds, now := int32(40), metav1.NowMicro()
	lease, err := leases.Get(ctx, s.nodeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: s.nodeName}}
		lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &s.nodeName, LeaseDurationSeconds: &seconds, RenewTime: &now}
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

func newNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name,
		Labels: map[string]string{
			corev1.LabelHostname:   name,
			corev1.LabelOSStable:   "linux",
			corev1.LabelArchStable: "amd64",
		},
	}}
}

func nodeIsReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func readyNodeStatus(name string, status corev1.NodeStatus, now metav1.Time) corev1.NodeStatus {
	status.Capacity = corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1000"),
		corev1.ResourceMemory: resource.MustParse("4Ti"),
		corev1.ResourcePods:   resource.MustParse("10k"),
		"nvidia.com/gpu":      resource.MustParse("1000"),
	}
	status.Allocatable = status.Capacity
	status.Addresses = []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: podsimHostIP},
		{Type: corev1.NodeHostName, Address: name},
	}
	status.Conditions = []corev1.NodeCondition{{
		Type:               corev1.NodeReady,
		Status:             corev1.ConditionTrue,
		Reason:             "KubeletReady",
		Message:            "simulated",
		LastHeartbeatTime:  now,
		LastTransitionTime: now,
	}}
	return status
}

// ipPool gives each pod an address of its own in 10.128.0.0/9. A pod that has
// one already (from before a restart) keeps it.
type ipPool struct {
	mu     sync.Mutex
	owners map[netip.Addr]types.UID
}

func (p *ipPool) claim(pod *corev1.Pod) netip.Addr {
	p.mu.Lock()
	defer p.mu.Unlock()
	if addr, err := netip.ParseAddr(pod.Status.PodIP); err == nil {
		p.owners[addr] = pod.UID
		return addr
	}
	hash := fnv.New32a()
	hash.Write([]byte(pod.UID))
	for n := hash.Sum32(); ; n++ {
		addr := netip.AddrFrom4([4]byte{10, 128 | byte(n>>16), byte(n >> 8), byte(n)})
		owner, taken := p.owners[addr]
		if !taken || owner == pod.UID {
			p.owners[addr] = pod.UID
			return addr
		}
	}
}

func (p *ipPool) release(pod *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for addr, owner := range p.owners {
		if owner == pod.UID {
			delete(p.owners, addr)
		}
	}
}
