package plan

import (
	"crypto/sha1"
	"encoding/hex"
	"maps"
	"strconv"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// identity gives the keys that are written alike as labels and as annotations, on the Job and on its pods.
func (b *Builder) identity(entryIndex, index int) map[string]string {
	js, entry := b.jobSet, &b.jobSet.Spec.ReplicatedJobs[entryIndex]
	group, first := groupOf(entry), b.layout.starts[entryIndex]
	keys := map[string]string{
		v1alpha2.JobSetNameKey:         js.Name,
		v1alpha2.JobSetUIDKey:          string(js.UID),
		v1alpha2.ReplicatedJobNameKey:  entry.Name,
		v1alpha2.ReplicatedJobReplicas: decimal(int64(entry.Replicas)),
		v1alpha2.GlobalReplicasKey:     decimal(b.layout.total),
		v1alpha2.JobIndexKey:           decimal(int64(index)),
		v1alpha2.JobGlobalIndexKey:     decimal(first.global + int64(index)),
		v1alpha2.JobKey:                jobKey(js.Namespace, JobName(js.Name, entry.Name, index)),
		v1alpha2.RestartsKey:           decimal(int64(js.Status.Restarts)),
		v1alpha2.GroupNameKey:          group,
		v1alpha2.GroupReplicasKey:      decimal(b.layout.groups[group]),
		v1alpha2.JobGroupIndexKey:      decimal(first.group + int64(index)),
	}
	if restarts := b.layout.restartsOf(entryIndex, index); b.countsSingle || restarts > 0 {
		keys[v1alpha2.JobRestartsKey] = decimal(int64(restarts))
	}
	if js.Spec.Coordinator != nil {
		keys[v1alpha2.CoordinatorKey] = CoordinatorAddress(js)
	}
	return keys
}

// jobKey is a hash because namespace and name together are too long for a label value. SHA-1 is the published format; nothing
// secret depends on it.
func jobKey(namespace, job string) string {
	sum := sha1.Sum([]byte(namespace + "/" + job))
	return hex.EncodeToString(sum[:])
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// merged is a new map; later maps win.
func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}
