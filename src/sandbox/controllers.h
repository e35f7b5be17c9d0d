/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a cluster's controller manager, scheduler and kubelets do, in simple form: Deployments, ReplicaSets,
 * StatefulSets, DaemonSets, Jobs, CronJobs, HorizontalPodAutoscalers, volumes, and Pods on simulated Nodes. Nothing is
 * executed; what is written is what those programs write (managers kube-controller-manager and kubelet, conditions with
 * their reasons and words).
 *
 * Each controller is a function from the observed state of one object to the next writes. Commits put objects into a
 * queue; a moment later (some ms, drawn from the loop's random source) they are looked at. A refused write is tried
 * again after a pause that doubles. When nothing is left to do no timer runs, save those of CronJobs.
 *
 * Pods. A Pod is bound, Running and Ready `pod_ready_ms` after that. Annotations, also later:
 *   podsim.truce.dev/delay: 2s           up after this long, also after a crash
 *   podsim.truce.dev/load: 90s           Ready only this long after it is up
 *   podsim.truce.dev/hold: pending       never bound; unready: Running, not Ready; running: a Job's Pod does not end
 *   podsim.truce.dev/flap: 5s            Ready and not, in turns of this length
 *   podsim.truce.dev/waiting: REASON     containers wait for that reason (CrashLoopBackOff, ErrImagePull …)
 *   podsim.truce.dev/exit: "0"           containers end with this code: the Pod becomes Succeeded (0) or Failed
 *   podsim.truce.dev/crashes: "2"        as soon as it is up, a container has a restartCount of 2 at least and the end
 *                                        in its lastState; with restartPolicy Never it stays down
 *   podsim.truce.dev/crash-code: "137"   with this exit code instead of 1; /crash-reason: OOMKilled instead of Error;
 *                                        /crash-container: NAME instead of the first one, also an init container
 *   podsim.truce.dev/evict: MESSAGE      Failed, reason Evicted; "true": the Node was low on memory
 *   podsim.truce.dev/stop: 30s           a deletion takes so long, at most the grace period
 * A container whose image ends in ":bad" waits with ImagePullBackOff. A Pod of a Job ends with code 0 by itself.
 *
 * Nodes. One takes every Pod, or there are those of sandbox_options.nodes, which take what fits (controllers_place.c).
 * Who creates a Node with the annotation podsim.truce.dev/node: "true" gets one more, of the allocatable that its
 * status says; from then on each Node, also the first, takes only what fits.
 *   podsim.truce.dev/down: "true"        it answers no more: Ready is Unknown, it has the taints unreachable, its Pods
 *                                        are not Ready and their deletions wait, until the annotation goes, the taint
 *                                        out-of-service comes (20 s), or the Node is deleted (60 s). What does not
 *                                        tolerate the taint is deleted, after five minutes as a rule
 *
 * tests/cluster/controlplane/podsim.go understands the same annotations on a real control plane.
 *
 * Metrics, for autoscalers:
 *   sandbox.truce.dev/cpu: 180m          on a Pod (so also on a template): what each of its Pods uses; /memory likewise
 *   sandbox.truce.dev/load-cpu: 900m     on the scaled object: what its Pods use together, in equal parts; /load-memory
 *   objects of metrics.k8s.io PodMetrics, when a CRD (pods.metrics.k8s.io) is there; they come first
 *
 * Events are written when sandbox_options.events says so; expiry.h ends them.
 *
 * Differences from a cluster: docs/testing.md. Autoscalers look 15 s after a change instead of every 15 s.
 *
 * Source: pkg/controller of Kubernetes v1.37; conditions and orders of writes were compared with a real one.
 *
 * Thread rule: loop thread only.
 */
#ifndef TRUCE_SANDBOX_CONTROLLERS_H
#define TRUCE_SANDBOX_CONTROLLERS_H

#include "sandbox/sandbox_impl.h"

#define SANDBOX_NODE "sandbox"

struct controllers;
/* Makes the Node. */
struct controllers *controllers_new(struct sandbox *s);
void controllers_free(struct controllers *ctl);
/* Forgets everything: the store was emptied. */
void controllers_reset(struct controllers *ctl);
/* Looks on at every commit. After loading: called with every object as if it were new. */
void controllers_tell(struct controllers *ctl, const struct kind *kind, const struct version *before,
                      const struct version *after);

#endif
