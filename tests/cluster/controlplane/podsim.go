// SPDX-License-Identifier: Apache-2.0

// podsim plays scheduler and kubelets for clusters without machines: it keeps Nodes alive, binds every pod to one, and
// makes pods Running and Ready after a delay. Nothing is executed. What it writes is what a kubelet writes: /binding,
// then /status, and a delete with grace period 0 to end a pod.
//
// There is one Node that takes everything, or --nodes N of a size, which take what fits (sim/place.go). Who creates a
// Node with the annotation podsim.truce.dev/node: "true" gets one more, of the allocatable that its status says; from
// then on each Node, also the first, takes only what fits.
//
// A pod's annotations change its fate, also while it runs:
//
//	podsim.truce.dev/delay: 2s           up after this long instead of --delay, also after a crash
//	podsim.truce.dev/load: 90s           Ready only this long after it is up
//	podsim.truce.dev/hold: pending       never bound
//	podsim.truce.dev/hold: unready       Running, but not Ready
//	podsim.truce.dev/flap: 5s            Ready and not, in turns of this length
//	podsim.truce.dev/waiting: REASON     containers wait for that reason (CrashLoopBackOff, ErrImagePull …)
//	podsim.truce.dev/exit: "0"           containers end with this code after the delay: the pod
//	                                     becomes Succeeded (0) or Failed
//	podsim.truce.dev/crashes: "2"        as soon as it is up, a container has a restartCount of 2 at least and the end
//	                                     in its lastState; with restartPolicy Never it stays down
//	podsim.truce.dev/crash-code: "137"   with this exit code instead of 1; /crash-reason: OOMKilled instead of Error;
//	                                     /crash-container: NAME instead of the first one, also an init container
//	podsim.truce.dev/evict: MESSAGE      Failed, reason Evicted; "true": the node was low on memory
//	podsim.truce.dev/stop: 30s           a deletion takes so long, at most the grace period
//
// A container whose image ends in ":bad" waits with ImagePullBackOff. And of a Node:
//
//	podsim.truce.dev/down: "true"        it answers no more: NodeReady is Unknown, it has the taints unreachable, its
//	                                     pods are not Ready, and their deletions wait. Deleted in that state, it stays
//	                                     away; without the annotation it goes on where it was
//
// The pure part is sim/; workloads.go makes the pods of custom resources.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"net/netip"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"truce.dev/tests/cluster/controlplane/sim"
)

const podsimWorkers = 8

type workQueue = workqueue.TypedRateLimitingInterface[cache.ObjectName]

type podsim struct {
	client     kubernetes.Interface
	dynamic    dynamic.Interface
	pods       listersv1.PodLister
	nodes      listersv1.NodeLister
	namespaces listersv1.NamespaceLister
	podQueue   workQueue
	nodeQueue  workQueue
	fleet      *fleet
	scheduler  *scheduler
	delay      time.Duration
	ips        ipPool
	up         sync.Map // pod UID → time.Time: bound, or restarted last; see sim.BoundAt
	ending     sync.Map // pod UID → time.Time when its deletion was seen
}

func runPodsim(args []string) error {
	flags := flag.NewFlagSet("podsim", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig file")
	nodeName := flags.String("node", "podsim", "name of the Node, where --nodes is not given")
	nodes := flags.Int("nodes", 0, "so many Nodes of a size instead: node-1, node-2 …")
	zones := flags.Int("zones", 0, "spread --nodes over so many zones: zone-1, zone-2 …")
	var size sim.Size
	flags.StringVar(&size.CPU, "node-cpu", "1000", "cpu of each of --nodes")
	flags.StringVar(&size.Memory, "node-memory", "4Ti", "memory of each of --nodes")
	flags.StringVar(&size.GPU, "node-gpu", "0", "nvidia.com/gpu of each of --nodes")
	delay := flags.Duration("delay", 200*time.Millisecond, "from binding to Ready")
	readyFile := flags.String("ready-file", "", "file to create once pods are being served")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return errors.New("what is " + flags.Arg(0) + "?")
	}
	fleet, err := newFleet(*nodeName, *nodes, *zones, size)
	if err != nil {
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
	simulator := &podsim{
		client:    client,
		dynamic:   dynamicClient,
		fleet:     fleet,
		scheduler: newScheduler(),
		delay:     *delay,
		ips:       ipPool{owners: map[netip.Addr]types.UID{}},
		podQueue:  newQueue(),
		nodeQueue: newQueue(),
	}
	return simulator.run(ctx, *readyFile)
}

func newQueue() workQueue {
	return workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](20*time.Millisecond, 2*time.Second))
}

func (s *podsim) run(ctx context.Context, readyFile string) error {
	factory := informers.NewSharedInformerFactory(s.client, 0)
	core := factory.Core().V1()
	s.pods, s.nodes, s.namespaces = core.Pods().Lister(), core.Nodes().Lister(), core.Namespaces().Lister()
	podInformer, nodeInformer, namespaceInformer := core.Pods().Informer(), core.Nodes().Informer(), core.Namespaces().Informer()
	if _, err := podInformer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { enqueue(s.podQueue, pod) },
		UpdateFunc: s.podChanged,
		DeleteFunc: s.podGone,
	}); err != nil {
		return err
	}
	if _, err := nodeInformer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(node any) { enqueue(s.nodeQueue, node) },
		UpdateFunc: func(_, node any) { enqueue(s.nodeQueue, node) },
		DeleteFunc: s.nodeGone,
	}); err != nil {
		return err
	}

	if err := s.heartbeat(ctx); err != nil {
		return err
	}
	go every(ctx, podsimHeartbeat, "heartbeat", s.heartbeat)
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), podInformer.HasSynced, nodeInformer.HasSynced, namespaceInformer.HasSynced) {
		return ctx.Err()
	}
	if readyFile != "" {
		if err := os.WriteFile(readyFile, nil, 0o644); err != nil {
			return err
		}
	}

	var workers sync.WaitGroup
	for range podsimWorkers {
		workers.Go(func() { work(ctx, s.podQueue, s.sync) })
	}
	workers.Go(func() { work(ctx, s.nodeQueue, s.syncNode) })
	workers.Go(func() { s.schedule(ctx) })
	operator := workloads{client: s.client, dynamic: s.dynamic, pods: s.pods}
	workers.Go(func() { every(ctx, workloadInterval, "workloads", operator.syncAll) })
	<-ctx.Done()
	s.podQueue.ShutDown()
	s.nodeQueue.ShutDown()
	workers.Wait()
	return nil
}

func enqueue(queue workQueue, object any) {
	if name, err := cache.ObjectToName(object); err == nil {
		queue.Add(name)
	}
}

func (s *podsim) podChanged(before, after any) {
	enqueue(s.podQueue, after)
	if old, ok := before.(*corev1.Pod); ok && !sim.HasEnded(old) && sim.HasEnded(after.(*corev1.Pod)) {
		s.scheduler.wake() // there is room
	}
}

func (s *podsim) podGone(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if pod, ok := object.(*corev1.Pod); ok {
		s.ips.release(pod)
		s.up.Delete(pod.UID)
		s.ending.Delete(pod.UID)
		s.scheduler.forget(pod.UID)
		s.scheduler.wake()
	}
}

// work serves a queue. A step moves one object on and says after which time to look again (0: when it changes).
func work(ctx context.Context, queue workQueue, step func(context.Context, cache.ObjectName) (time.Duration, error)) {
	for {
		name, shutdown := queue.Get()
		if shutdown {
			return
		}
		again, err := step(ctx, name)
		switch {
		case err == nil || apierrors.IsNotFound(err):
			queue.Forget(name)
			if again > 0 {
				queue.AddAfter(name, again)
			}
		default:
			if !apierrors.IsConflict(err) {
				fmt.Fprintf(os.Stderr, "podsim: %s: %v\n", name, err)
			}
			queue.AddRateLimited(name)
		}
		queue.Done(name)
	}
}

func (s *podsim) sync(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
	pod, err := s.pods.Pods(name.Namespace).Get(name.Name)
	if err != nil {
		return 0, err
	}
	if pod.Spec.NodeName == "" {
		return 0, s.wait(ctx, pod)
	}
	node, state := s.nodeOf(pod)
	switch {
	case state == nodeForeign:
		return 0, nil
	case state == nodeDown:
		return 0, s.writeStatus(ctx, pod, sim.LostStatus(pod, time.Now()), "kube-controller-manager")
	case pod.DeletionTimestamp != nil:
		return s.end(ctx, pod)
	}
	return s.live(ctx, pod, sim.HostIP(node))
}

func (s *podsim) live(ctx context.Context, pod *corev1.Pod, hostIP string) (time.Duration, error) {
	now := time.Now()
	since, _ := s.up.LoadOrStore(pod.UID, sim.BoundAt(pod, now))
	wanted := sim.WantedStatus(pod, sim.StatusInput{
		Now:    now,
		Since:  since.(time.Time),
		Delay:  s.delay,
		PodIP:  s.ips.claim(pod).String(),
		HostIP: hostIP,
	})
	if err := s.writeStatus(ctx, pod, wanted.Status, "kubelet"); err != nil {
		return 0, err
	}
	if wanted.Restarted {
		s.up.Store(pod.UID, now)
	}
	return wanted.Again, nil
}

// wait is for a pod without a Node.
func (s *podsim) wait(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil || !sim.WantsBinding(pod) {
		return nil
	}
	if node := s.onlyNode(); node != "" {
		return s.bind(ctx, pod, node)
	}
	s.scheduler.wake()
	return nil
}

func (s *podsim) bind(ctx context.Context, pod *corev1.Pod, node string) error {
	return s.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}, metav1.CreateOptions{})
}

// end finishes a deletion, once the containers have had the time that they take and are given. With finalizers the pod
// outlives it, hence the look at the grace period: once is enough.
func (s *podsim) end(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	if grace := pod.DeletionGracePeriodSeconds; grace != nil && *grace == 0 {
		return 0, nil
	}
	now := time.Now()
	seen, _ := s.ending.LoadOrStore(pod.UID, now)
	left := min(seen.(time.Time).Add(sim.StopDelay(pod)).Sub(now), pod.DeletionTimestamp.Sub(now))
	if left > 0 && !sim.HasEnded(pod) {
		return left, nil
	}
	options := metav1.NewDeleteOptions(0)
	options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	return 0, s.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *options)
}

// writeStatus sends the whole status, where it differs, as a merge patch; the uid keeps it from hitting a successor of
// the same name.
func (s *podsim) writeStatus(ctx context.Context, pod *corev1.Pod, status *corev1.PodStatus, manager string) error {
	if apiequality.Semantic.DeepEqual(*status, pod.Status) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"status":   status,
	})
	if err != nil {
		return err
	}
	_, err = s.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: manager}, "status")
	return err
}

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
