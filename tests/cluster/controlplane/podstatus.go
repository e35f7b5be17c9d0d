// SPDX-License-Identifier: Apache-2.0

// The pure half of podsim: from a bound pod and the time to the status it
// should have. What others wrote (restartCount, foreign conditions such as
// readiness gates) is kept, so that a test can set it through /status.
package main

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	annotationDelay   = "podsim.truce.dev/delay"
	annotationHold    = "podsim.truce.dev/hold"
	annotationWaiting = "podsim.truce.dev/waiting"
	annotationExit    = "podsim.truce.dev/exit"
)

type podStatusInput struct {
	now     time.Time
	boundAt time.Time
	delay   time.Duration
	podIP   string
	hostIP  string
}

func wantsBinding(pod *corev1.Pod) bool {
	return len(pod.Spec.SchedulingGates) == 0 && pod.Annotations[annotationHold] != "pending"
}

// wantedStatus also says how long it stays true by itself (0: for ever).
func wantedStatus(pod *corev1.Pod, in podStatusInput) (*corev1.PodStatus, time.Duration) {
	status := pod.Status.DeepCopy()
	if status.Phase == corev1.PodSucceeded || status.Phase == corev1.PodFailed {
		return status, 0 // as on a cluster, for good
	}
	if status.StartTime == nil {
		start := metav1.NewTime(in.now.Truncate(time.Second))
		status.StartTime = &start
	}
	status.ObservedGeneration = pod.Generation
	status.HostIP, status.HostIPs = in.hostIP, []corev1.HostIP{{IP: in.hostIP}}
	status.PodIP, status.PodIPs = in.podIP, []corev1.PodIP{{IP: in.podIP}}

	left := delayOf(pod, in.delay) - in.now.Sub(in.boundAt)
	stage := stageOf(pod, left <= 0)
	setContainers(pod, status, stage, in.now)
	setPhase(status, stage)
	setConditions(pod, status, stage, in.now)
	if left <= 0 {
		left = 0
	}
	return status, left
}

type podStage struct {
	waiting  string // containers wait for this reason; empty when they run or ran
	ready    bool
	exited   bool
	exitCode int32
}

func stageOf(pod *corev1.Pod, delayOver bool) podStage {
	if reason := pod.Annotations[annotationWaiting]; reason != "" {
		return podStage{waiting: reason}
	}
	if !delayOver {
		return podStage{waiting: "ContainerCreating"}
	}
	if code, err := strconv.ParseInt(pod.Annotations[annotationExit], 10, 32); err == nil {
		return podStage{exited: true, exitCode: int32(code)}
	}
	return podStage{ready: pod.Annotations[annotationHold] != "unready"}
}

func delayOf(pod *corev1.Pod, otherwise time.Duration) time.Duration {
	if d, err := time.ParseDuration(pod.Annotations[annotationDelay]); err == nil {
		return d
	}
	return otherwise
}

// boundAt is when podsim met a bound pod: now, or the time that the API server
// noted, which counts whole seconds and so is good only for older bindings
// (those found after a restart of podsim).
func boundAt(pod *corev1.Pod, now time.Time) time.Time {
	for _, c := range pod.Status.Conditions {
		noted := c.LastTransitionTime.Time
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && now.Sub(noted) > 2*time.Second {
			return noted
		}
	}
	return now
}

func setPhase(status *corev1.PodStatus, stage podStage) {
	switch {
	case stage.exited && stage.exitCode == 0:
		status.Phase = corev1.PodSucceeded
	case stage.exited:
		status.Phase = corev1.PodFailed
	case stage.waiting == "" || stage.waiting == "CrashLoopBackOff":
		status.Phase = corev1.PodRunning
	default:
		status.Phase = corev1.PodPending
	}
}

func setContainers(pod *corev1.Pod, status *corev1.PodStatus, stage podStage, now time.Time) {
	status.ContainerStatuses = containerStatuses(pod.Spec.Containers, status.ContainerStatuses, func(corev1.Container) podStage {
		return stage
	}, now)
	status.InitContainerStatuses = containerStatuses(pod.Spec.InitContainers, status.InitContainerStatuses, func(c corev1.Container) podStage {
		isSidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		switch {
		case isSidecar || stage.waiting == "ContainerCreating":
			return stage
		default:
			return podStage{exited: true}
		}
	}, now)
}

func containerStatuses(containers []corev1.Container, old []corev1.ContainerStatus, stageFor func(corev1.Container) podStage, now time.Time) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, c := range containers {
		status := corev1.ContainerStatus{Name: c.Name}
		for _, o := range old {
			if o.Name == c.Name {
				status = o
			}
		}
		setContainer(&status, c, stageFor(c), now)
		statuses = append(statuses, status)
	}
	return statuses
}

func setContainer(status *corev1.ContainerStatus, c corev1.Container, stage podStage, now time.Time) {
	second := metav1.NewTime(now.Truncate(time.Second))
	if status.Image != "" && status.Image != c.Image {
		status.RestartCount++ // an image changed in place restarts its container
	}
	status.Image = c.Image
	status.ImageID = "sim://" + c.Image
	status.Ready = stage.ready || (stage.exited && stage.exitCode == 0)
	started := stage.waiting == "" && !stage.exited
	status.Started = &started

	switch {
	case stage.waiting != "":
		status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: stage.waiting}}
	case stage.exited && status.State.Terminated == nil:
		status.ContainerID = "sim://" + c.Name
		status.State = corev1.ContainerState{Terminated: terminated(stage.exitCode, second)}
	case !stage.exited && status.State.Running == nil:
		status.ContainerID = "sim://" + c.Name
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: second}}
	}
}

func terminated(exitCode int32, at metav1.Time) *corev1.ContainerStateTerminated {
	reason := "Completed"
	if exitCode != 0 {
		reason = "Error"
	}
	return &corev1.ContainerStateTerminated{ExitCode: exitCode, Reason: reason, StartedAt: at, FinishedAt: at}
}

func setConditions(pod *corev1.Pod, status *corev1.PodStatus, stage podStage, now time.Time) {
	reason := "ContainersNotReady"
	if stage.exited {
		reason = "PodCompleted"
	}
	initialized := stage.waiting != "ContainerCreating" || len(pod.Spec.InitContainers) == 0
	set := func(kind corev1.PodConditionType, isTrue bool, whyNot string) {
		setCondition(status, pod.Generation, kind, isTrue, whyNot, now)
	}
	set(corev1.PodReadyToStartContainers, true, "")
	set(corev1.PodInitialized, initialized, "ContainersNotInitialized")
	set(corev1.ContainersReady, stage.ready, reason)
	if stage.ready && !gatesAreOpen(pod) {
		set(corev1.PodReady, false, "ReadinessGatesNotReady")
	} else {
		set(corev1.PodReady, stage.ready, reason)
	}
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
			c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
		}
		c.Status, c.Reason, c.ObservedGeneration = value, reason, generation
		return
	}
	status.Conditions = append(status.Conditions, corev1.PodCondition{
		Type:               kind,
		Status:             value,
		Reason:             reason,
		ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	})
}
