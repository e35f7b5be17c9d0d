// SPDX-License-Identifier: Apache-2.0

// Package sim is the pure half of podsim: values in, values out, no clock and no client. This file goes from a bound
// pod and the time to the status it should have. What others wrote (restartCount, foreign conditions such as readiness
// gates) is kept, so that a test can set it through /status.
package sim

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Annotations of pods; ../podsim.go says what they mean.
const (
	annotationDelay          = "podsim.truce.dev/delay"
	annotationLoad           = "podsim.truce.dev/load"
	annotationHold           = "podsim.truce.dev/hold"
	annotationFlap           = "podsim.truce.dev/flap"
	annotationWaiting        = "podsim.truce.dev/waiting"
	annotationExit           = "podsim.truce.dev/exit"
	annotationCrashes        = "podsim.truce.dev/crashes"
	annotationCrashCode      = "podsim.truce.dev/crash-code"
	annotationCrashReason    = "podsim.truce.dev/crash-reason"
	annotationCrashContainer = "podsim.truce.dev/crash-container"
	annotationEvict          = "podsim.truce.dev/evict"
	annotationStop           = "podsim.truce.dev/stop"
)

const (
	creating     = "ContainerCreating"
	initializing = "PodInitializing"
	crashLooping = "CrashLoopBackOff"
)

type StatusInput struct {
	Now           time.Time
	Since         time.Time // when it was bound, or its containers were restarted last
	Delay         time.Duration
	PodIP, HostIP string
}

type Wanted struct {
	Status    *corev1.PodStatus
	Again     time.Duration // how long it stays true by itself; 0: for ever
	Restarted bool          // a container has just crashed: Since is now
}

// WantsBinding: neither gates nor a person keep it from being scheduled.
func WantsBinding(pod *corev1.Pod) bool {
	return len(pod.Spec.SchedulingGates) == 0 && pod.Annotations[annotationHold] != "pending"
}

func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// StopDelay is how long its containers take to end when it is deleted, the grace period aside.
func StopDelay(pod *corev1.Pod) time.Duration {
	return durationOf(pod, annotationStop, 0)
}

// BoundAt is when podsim met a bound pod: now, or the time that the API server noted, which counts whole seconds and so
// is good only for older bindings (those found after a restart of podsim).
func BoundAt(pod *corev1.Pod, now time.Time) time.Time {
	for _, c := range pod.Status.Conditions {
		noted := c.LastTransitionTime.Time
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && now.Sub(noted) > 2*time.Second {
			return noted
		}
	}
	return now
}

// LostStatus is what becomes of the status of a pod whose node does not answer: the node controller says that it is not
// ready, and nobody says more.
func LostStatus(pod *corev1.Pod, now time.Time) *corev1.PodStatus {
	status := pod.Status.DeepCopy()
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			c.Status, c.LastTransitionTime = corev1.ConditionFalse, whole(now)
		}
	}
	return status
}

func WantedStatus(pod *corev1.Pod, in StatusInput) Wanted {
	status := pod.Status.DeepCopy()
	if HasEnded(pod) {
		return Wanted{Status: status} // as on a cluster, for good
	}
	if status.StartTime == nil {
		start := whole(in.Now)
		status.StartTime = &start
	}
	status.ObservedGeneration = pod.Generation
	status.HostIP, status.HostIPs = in.HostIP, []corev1.HostIP{{IP: in.HostIP}}
	status.PodIP, status.PodIPs = in.PodIP, []corev1.PodIP{{IP: in.PodIP}}
	if message := pod.Annotations[annotationEvict]; message != "" {
		evict(pod, status, message, in.Now)
		return Wanted{Status: status}
	}

	l := life{pod: pod, status: status, now: in.Now, crash: crashOf(pod)}
	l.left = in.Since.Add(durationOf(pod, annotationDelay, in.Delay)).Sub(in.Now)
	restarted := l.crashNow(durationOf(pod, annotationDelay, in.Delay))
	stage, again := l.stage()
	l.setContainers(stage)
	status.Phase = l.phase()
	l.setConditions(stage)
	return Wanted{Status: status, Again: again, Restarted: restarted}
}

// stage is where a container is in its life.
type stage struct {
	waiting  string // for this reason; empty when it runs or ran
	message  string
	starting bool // runs again after a crash, and is not ready yet
	ready    bool
	exited   bool
	exitCode int32
	reason   string // of the exit; empty: as the code says
}

// crash is what the annotations ask for.
type crash struct {
	container string
	isInit    bool // it is one that runs to its end before the others
	restarts  bool // the kubelet starts it again; else it stays down
	count     int32
	code      int32
	reason    string
}

func crashOf(pod *corev1.Pod) crash {
	c := crash{code: 1, reason: pod.Annotations[annotationCrashReason], container: pod.Annotations[annotationCrashContainer]}
	c.count = int32(numberOf(pod, annotationCrashes, 0))
	c.code = int32(numberOf(pod, annotationCrashCode, 1))
	if c.container == "" && len(pod.Spec.Containers) > 0 {
		c.container = pod.Spec.Containers[0].Name
	}
	always := pod.Spec.RestartPolicy != corev1.RestartPolicyNever && pod.Spec.RestartPolicy != corev1.RestartPolicyOnFailure
	for _, container := range pod.Spec.InitContainers {
		if container.Name == c.container {
			c.isInit, always = !isSidecar(container), always || isSidecar(container)
		}
	}
	c.restarts = always || (pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && (c.isInit || c.code != 0))
	return c
}

// life is a pod that goes on living, while its next status is being made.
type life struct {
	pod    *corev1.Pod
	status *corev1.PodStatus
	now    time.Time
	left   time.Duration // until its containers are up
	crash  crash
}

func (l *life) isUp() bool { return l.left <= 0 }

func (l *life) waiting() string { return l.pod.Annotations[annotationWaiting] }

// crashNow lets a container crash that has crashed less often than it should, and says whether it did.
func (l *life) crashNow(delay time.Duration) bool {
	status := l.statusOf(l.crash.container)
	if l.crash.count == 0 || !l.crash.restarts || !l.mayCrash() || (status != nil && status.RestartCount >= l.crash.count) {
		return false
	}
	if status == nil { // it crashed before anything was written of it
		status = l.addStatus(l.crash)
	}
	started := whole(l.now)
	if status.State.Running != nil {
		started = status.State.Running.StartedAt
	}
	last := terminated(l.crash.code, l.crash.reason, whole(l.now))
	last.StartedAt, last.ContainerID = started, status.ContainerID
	status.LastTerminationState = corev1.ContainerState{Terminated: last}
	status.RestartCount = l.crash.count
	status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: whole(l.now)}}
	l.left = delay
	return true
}

// mayCrash: what has not begun cannot crash.
func (l *life) mayCrash() bool {
	switch l.waiting() {
	case "":
		return l.isUp() || l.crash.isInit
	case crashLooping:
		return true
	}
	return false
}

func (l *life) statusOf(container string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{l.status.ContainerStatuses, l.status.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == container {
				return &list[i]
			}
		}
	}
	return nil
}

func (l *life) addStatus(c crash) *corev1.ContainerStatus {
	list := &l.status.ContainerStatuses
	for _, container := range l.pod.Spec.InitContainers {
		if container.Name == c.container {
			list = &l.status.InitContainerStatuses
		}
	}
	*list = append(*list, corev1.ContainerStatus{Name: c.container})
	return &(*list)[len(*list)-1]
}

// hasRestarted: the containers are not up, but they were, or those that come first have begun.
func (l *life) hasRestarted() bool {
	status := l.statusOf(l.crash.container)
	if l.crash.isInit {
		return l.crash.restarts && status != nil && status.RestartCount > 0 && status.State.Running != nil
	}
	for _, s := range l.status.ContainerStatuses {
		if s.State.Running != nil {
			return true
		}
	}
	return false
}

// stage is that of the containers that have no fate of their own, and how long it stays.
func (l *life) stage() (stage, time.Duration) {
	if reason := l.waiting(); reason != "" {
		return stage{waiting: reason}, 0
	}
	if !l.isUp() {
		switch {
		case !l.hasRestarted():
			return stage{waiting: creating}, l.left
		case l.crash.isInit:
			return stage{waiting: initializing}, l.left
		}
		return stage{starting: true}, l.left
	}
	if l.crash.count > 0 && l.crash.isInit && !l.crash.restarts {
		return stage{waiting: initializing}, 0
	}
	if code, err := strconv.ParseInt(l.pod.Annotations[annotationExit], 10, 32); err == nil {
		return stage{exited: true, exitCode: int32(code)}, 0
	}
	return l.upStage(-l.left)
}

// upStage: the containers are up since so long.
func (l *life) upStage(up time.Duration) (stage, time.Duration) {
	load := durationOf(l.pod, annotationLoad, 0)
	if up < load {
		return stage{}, load - up
	}
	period := durationOf(l.pod, annotationFlap, 0)
	if l.pod.Annotations[annotationHold] == "unready" || period <= 0 {
		return stage{ready: l.pod.Annotations[annotationHold] != "unready"}, 0
	}
	up -= load
	return stage{ready: up/period%2 == 0}, period - up%period
}

func (l *life) setContainers(all stage) {
	l.status.ContainerStatuses = l.statuses(l.pod.Spec.Containers, l.status.ContainerStatuses, func(c corev1.Container) stage {
		return l.mainStage(all, c)
	})
	crashed := false // all before the one that crashes have ended, all after it wait
	l.status.InitContainerStatuses = l.statuses(l.pod.Spec.InitContainers, l.status.InitContainerStatuses, func(c corev1.Container) stage {
		isIt := l.crash.isInit && l.crash.container == c.Name
		switch {
		case isSidecar(c) || all.waiting == creating:
			return all
		case all.waiting != initializing:
			return stage{exited: true}
		case isIt:
			crashed = true
			return stage{starting: l.crash.restarts, exited: !l.crash.restarts, exitCode: l.crash.code, reason: l.crash.reason}
		case crashed:
			return all
		}
		return stage{exited: true}
	})
}

func (l *life) mainStage(all stage, c corev1.Container) stage {
	if all.waiting != "" {
		return all
	}
	if strings.HasSuffix(c.Image, ":bad") {
		return stage{waiting: "ImagePullBackOff", message: fmt.Sprintf("Back-off pulling image %q: not found", c.Image)}
	}
	if l.crash.count > 0 && !l.crash.restarts && c.Name == l.crash.container && !all.exited {
		return stage{exited: true, exitCode: l.crash.code, reason: l.crash.reason}
	}
	return all
}

func (l *life) statuses(containers []corev1.Container, old []corev1.ContainerStatus, stageFor func(corev1.Container) stage) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, c := range containers {
		status := corev1.ContainerStatus{Name: c.Name}
		for _, o := range old {
			if o.Name == c.Name {
				status = o
			}
		}
		l.setContainer(&status, c, stageFor(c))
		statuses = append(statuses, status)
	}
	return statuses
}

func (l *life) setContainer(status *corev1.ContainerStatus, c corev1.Container, s stage) {
	if status.Image != "" && status.Image != c.Image {
		status.RestartCount++ // an image changed in place restarts its container
	}
	status.Image = c.Image
	status.ImageID = "sim://" + c.Image
	if s.starting { // the others did not crash
		status.Ready = status.Ready && c.Name != l.crash.container
	} else {
		status.Ready = s.ready || (s.exited && s.exitCode == 0)
	}
	started := s.waiting == "" && !s.exited
	status.Started = &started

	switch {
	case s.waiting != "":
		status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: s.waiting, Message: s.message}}
	case s.exited && status.State.Terminated == nil:
		status.ContainerID = "sim://" + c.Name
		status.State = corev1.ContainerState{Terminated: terminated(s.exitCode, s.reason, whole(l.now))}
	case !s.exited && status.State.Running == nil:
		status.ContainerID = "sim://" + c.Name
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: whole(l.now)}}
	}
}

// phase follows from the containers, as the kubelet's does.
func (l *life) phase() corev1.PodPhase {
	ended, failed, waits := 0, false, false
	for _, s := range l.status.InitContainerStatuses {
		if t := s.State.Terminated; t != nil && t.ExitCode != 0 {
			return corev1.PodFailed // only where nothing starts it again
		}
	}
	for _, s := range l.status.ContainerStatuses {
		if t := s.State.Terminated; t != nil {
			ended++
			failed = failed || t.ExitCode != 0
		}
		waits = waits || (s.State.Waiting != nil && s.State.Waiting.Reason != crashLooping)
	}
	switch {
	case waits:
		return corev1.PodPending
	case ended < len(l.status.ContainerStatuses):
		return corev1.PodRunning
	case failed:
		return corev1.PodFailed
	}
	return corev1.PodSucceeded
}

func (l *life) setConditions(s stage) {
	reason := notReadyReason(l.status.Phase)
	ready := l.status.Phase == corev1.PodRunning
	for _, c := range l.status.ContainerStatuses {
		ready = ready && c.Ready
	}
	for _, c := range l.pod.Spec.InitContainers {
		ready = ready && (!isSidecar(c) || l.statusOf(c.Name).Ready)
	}
	isInitialized := (s.waiting != creating && s.waiting != initializing) || len(l.pod.Spec.InitContainers) == 0
	set := func(kind corev1.PodConditionType, isTrue bool, whyNot string) {
		setCondition(l.status, l.pod.Generation, kind, isTrue, whyNot, l.now)
	}
	set(corev1.PodReadyToStartContainers, true, "")
	set(corev1.PodInitialized, isInitialized, "ContainersNotInitialized")
	set(corev1.ContainersReady, ready, reason)
	if ready && !gatesAreOpen(l.pod) {
		set(corev1.PodReady, false, "ReadinessGatesNotReady")
	} else {
		set(corev1.PodReady, ready, reason)
	}
}

func notReadyReason(phase corev1.PodPhase) string {
	switch phase {
	case corev1.PodSucceeded:
		return "PodCompleted"
	case corev1.PodFailed:
		return "PodFailed"
	}
	return "ContainersNotReady"
}

// evict ends a pod as a kubelet does that runs out of something.
func evict(pod *corev1.Pod, status *corev1.PodStatus, message string, now time.Time) {
	if message == "true" {
		message = "The node was low on resource: memory. "
	}
	status.Phase, status.Reason, status.Message = corev1.PodFailed, "Evicted", message
	for _, list := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses} {
		for i := range list {
			stop(&list[i], now)
		}
	}
	setCondition(status, pod.Generation, corev1.DisruptionTarget, true, "", now)
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == corev1.DisruptionTarget {
			c.Reason, c.Message = corev1.PodReasonTerminationByKubelet, message
		}
	}
	setCondition(status, pod.Generation, corev1.ContainersReady, false, "PodFailed", now)
	setCondition(status, pod.Generation, corev1.PodReady, false, "PodFailed", now)
}

func stop(status *corev1.ContainerStatus, now time.Time) {
	no := false
	status.Ready, status.Started = false, &no
	if status.State.Terminated != nil {
		return
	}
	end := terminated(137, "", whole(now))
	if status.State.Running != nil {
		end.StartedAt = status.State.Running.StartedAt
	}
	status.State = corev1.ContainerState{Terminated: end}
}

func isSidecar(c corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func terminated(exitCode int32, reason string, at metav1.Time) *corev1.ContainerStateTerminated {
	if reason == "" && exitCode == 0 {
		reason = "Completed"
	} else if reason == "" {
		reason = "Error"
	}
	return &corev1.ContainerStateTerminated{ExitCode: exitCode, Reason: reason, StartedAt: at, FinishedAt: at}
}

func gatesAreOpen(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		open := false
		for _, c := range pod.Status.Conditions {
			open = open || (c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue)
		}
		if !open {
			return false
		}
	}
	return true
}

func setCondition(status *corev1.PodStatus, generation int64, kind corev1.PodConditionType, isTrue bool, whyNot string, now time.Time) {
	value, reason := corev1.ConditionTrue, ""
	if !isTrue {
		value, reason = corev1.ConditionFalse, whyNot
	}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.Type != kind {
			continue
		}
		if c.Status != value {
			c.LastTransitionTime = whole(now)
		}
		c.Status, c.Reason, c.ObservedGeneration = value, reason, generation
		return
	}
	status.Conditions = append(status.Conditions, corev1.PodCondition{
		Type:               kind,
		Status:             value,
		Reason:             reason,
		ObservedGeneration: generation,
		LastTransitionTime: whole(now),
	})
}

// Unschedulable is the status that a scheduler gives to a pod that fits nowhere.
func Unschedulable(pod *corev1.Pod, message string, now time.Time) *corev1.PodStatus {
	status := pod.Status.DeepCopy()
	setCondition(status, pod.Generation, corev1.PodScheduled, false, corev1.PodReasonUnschedulable, now)
	for i := range status.Conditions {
		if status.Conditions[i].Type == corev1.PodScheduled {
			status.Conditions[i].Message = message
		}
	}
	return status
}

// whole: the API keeps whole seconds.
func whole(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

func durationOf(pod *corev1.Pod, annotation string, otherwise time.Duration) time.Duration {
	if d, err := time.ParseDuration(pod.Annotations[annotation]); err == nil {
		return d
	}
	return otherwise
}

// numberOf reads a number that is not negative.
func numberOf(pod *corev1.Pod, annotation string, otherwise int64) int64 {
	n, err := strconv.ParseInt(pod.Annotations[annotation], 10, 64)
	if err != nil || n < 0 || n > math.MaxInt32 {
		return otherwise
	}
	return n
}
