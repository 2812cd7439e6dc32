package ladder

// Owner is an object that a pod belongs to.
type Owner struct {
	Group, Kind, Name, UID string
	Annotations            map[string]string
}

// Chain is from a pod's own controller up to the root, by controller references and their UIDs.
type Chain []Owner

// Names of kinds and annotations that the programs answer to. They are fixed by those who published them.
const (
	jobSetGroup     = "jobset.x-k8s.io"
	appWrapperGroup = "workload.codeflare.dev"
	elasticGroup    = "elastic.pytorch.org"

	inPlaceTimeout = "alpha.jobset.sigs.k8s.io/inplace-timeout"
	inPlaceDriver  = "holdfast.dev/inplace-driver"
	driverSidecar  = "cri"
	driverNone     = "none"
	retries        = "schedulingRetries"
)

// Find returns the owner of a kind, nil if there is none.
func (c Chain) Find(group, kind string) *Owner {
	for i := range c {
		if c[i].Group == group && c[i].Kind == kind {
			return &c[i]
		}
	}
	return nil
}

// JobSet that the pod belongs to.
func (c Chain) JobSet() *Owner { return c.Find(jobSetGroup, "JobSet") }

// AppWrapper that the pod belongs to.
func (c Chain) AppWrapper() *Owner { return c.Find(appWrapperGroup, "AppWrapper") }

// ElasticJob that the pod belongs to.
func (c Chain) ElasticJob() *Owner { return c.Find(elasticGroup, "ElasticJob") }

// InPlace returns the JobSet or the ElasticJob if it asks for restarts in place.
func (c Chain) InPlace() *Owner {
	group := c.JobSet()
	switch {
	case group == nil: // the driver is chosen for JobSets only
		group = c.ElasticJob()
	case group.Annotations[inPlaceDriver] == driverNone:
		return nil
	}
	if group == nil {
		return nil
	}
	if _, asked := group.Annotations[inPlaceTimeout]; !asked {
		return nil
	}
	return group
}

// Moved returns the owner nearest to the pod that asks for its pods to be moved away from nodes on which they cannot run.
func (c Chain) Moved() *Owner {
	for i := range c {
		if _, asked := c[i].Annotations[retries]; asked {
			return &c[i]
		}
	}
	return nil
}
