package alerts

import (
	"fmt"

	"github.com/holdfast-project/holdfast/charts/internal/admission"
	"github.com/holdfast-project/holdfast/shared/series"
)

func appWrapper() Set {
	m := manager{
		title: "AppWrapper controller", program: "appwrapper", controllers: "appwrapper",
		webhooks: admission.Names["appwrapper-controller"], lease: "f134c674.codeflare.dev",
	}
	return Set{"appwrapper-controller", append(m.alerts(),
		Alert{
			Name: "HoldfastQuotaHeldIdle", Severity: Warning, For: "30m", Threshold: "0",
			Expr:        fmt.Sprintf("sum by (cluster, namespace, phase) (%s) > THRESHOLD", series.QuotaHeld.Name),
			Summary:     "Quota is held while nothing trains",
			Description: "AppWrappers in one phase hold quota although not all of their pods are running. Find them and what they wait for.",
		},
		Alert{
			Name: "HoldfastResetStorm", Severity: Warning, Threshold: "10",
			Expr:        fmt.Sprintf("sum by (cluster, namespace) (increase(%s[1h])) > THRESHOLD", series.Resets.Name),
			Summary:     "More than THRESHOLD resets in an hour",
			Description: "A reset deletes and recreates a whole workload. Open the quota dashboard to see the reasons.",
		},
	)}
}

func elastic() Set {
	m := manager{
		title: "elastic operator", program: "elastic-operator", controllers: "elastic-job-controller",
		lease: "elastic-operator.holdfast.dev",
	}
	return Set{"elastic-operator", append(m.alerts(),
		Alert{
			Name: "HoldfastElasticWorkersAbandoned", Severity: Info, Threshold: "0",
			Expr:        fmt.Sprintf("increase(%s[1h]) > THRESHOLD", series.WorkersAbandoned.Name),
			Summary:     "An ElasticJob continues with fewer workers for good",
			Description: "A worker is no longer replaced: it used up its backoffLimit or disruptionLimit, ended with one of the permanentExitCodes, or its restartPolicy is Never. The job fails once fewer than minReplicas are left.",
		},
		Alert{
			Name: "HoldfastElasticJobsFail", Severity: Warning, Threshold: "3",
			Expr:        fmt.Sprintf(`sum by (cluster, namespace) (increase(%s{outcome="Failed"}[1h])) > THRESHOLD`, series.ElasticFinished.Name),
			Summary:     "More than THRESHOLD ElasticJobs failed in an hour",
			Description: "Each had fewer than minReplicas workers left, too few that succeeded for its successPolicy, or was out of its activeDeadlineSeconds. The Failed condition says which. Check what they have in common, such as an image, a node or a data set.",
		},
	)}
}

func rescheduler() Set {
	m := manager{
		title: "rescheduler", program: "rescheduler", controllers: "rescheduler|pardons",
		webhooks: admission.Names["rescheduler"], lease: "rescheduler.holdfast.dev",
	}
	return Set{"rescheduler", append(m.alerts(),
		Alert{
			Name: "HoldfastRescheduleBreakerOpen", Severity: Warning,
			Expr:        fmt.Sprintf("max by (cluster, namespace) (%s) > 0", series.BreakerOpen.Name),
			Summary:     "The rescheduler has stopped moving pods",
			Description: "The circuit breaker is open, because more failed at once than single nodes explain. It closes after breaker.pause, ten minutes by default. Check for a fault that many nodes share.",
		},
		Alert{
			Name: "HoldfastMovesBlocked", Severity: Warning, Threshold: "10",
			Expr: fmt.Sprintf(`sum by (cluster, namespace) (increase(%s{outcome="blocked"}[30m])) > THRESHOLD and sum by (cluster, namespace) (increase(%s{outcome="moved"}[30m])) < 1`,
				series.Moves.Name, series.Moves.Name),
			Summary:     "PodDisruptionBudgets block the rescheduler",
			Description: "It tried to move pods more than THRESHOLD times in half an hour, and moved none. Find the PodDisruptionBudgets that allow no disruption.",
		},
		Alert{
			Name: "HoldfastReplacementsSlow", Severity: Warning, For: "10m", Threshold: "60",
			Expr:        fmt.Sprintf("histogram_quantile(0.9, sum by (cluster, namespace, le) (rate(%s[30m]))) > THRESHOLD", series.ReplacementDuration.Bucket()),
			Summary:     "Moved pods wait longer than {{ THRESHOLD | humanizeDuration }} for another node",
			Description: "For one in ten, it took longer than this from the failure until the pod was assigned to a node. Usually the nodes that are not excluded are full.",
		},
		Alert{
			Name: "HoldfastExclusionsUnreadable", Severity: Warning, Threshold: "0",
			Expr:        fmt.Sprintf(`sum by (cluster, namespace) (increase(%s{reason="Unreadable"}[30m])) > THRESHOLD`, series.ExclusionsIgnored.Name),
			Summary:     "The scheduler cannot read which nodes a pod must avoid",
			Description: "The annotation of a pod has an invalid value, so the pod is scheduled as if it had none. Find what else writes the annotation.",
		},
	)}
}
