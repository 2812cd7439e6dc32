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
			Name: "HoldfastQuotaHeldIdle", Severity: Warning, For: "30m",
			Expr:        fmt.Sprintf("sum by (phase) (%s) > 0", series.QuotaHeld.Name),
			Summary:     "Quota is held while nothing trains",
			Description: "For half an hour, AppWrappers in one phase held quota for pods although not all of their pods ran.",
		},
		Alert{
			Name: "HoldfastResetStorm", Severity: Warning,
			Expr:        fmt.Sprintf("sum(increase(%s[1h])) > 10", series.Resets.Name),
			Summary:     "More than ten resets in an hour",
			Description: "A reset deletes and creates all of a workload: the dearest answer to a failure. Look at the reasons on the quota board.",
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
			Name: "HoldfastElasticWorkersGivenUp", Severity: Info,
			Expr:        fmt.Sprintf("increase(%s[1h]) > 0", series.WorkersGivenUp.Name),
			Summary:     "An ElasticJob goes on with fewer workers for good",
			Description: "A worker is not replaced any more: it used up its backoffLimit or disruptionLimit, ended with one of the permanentExitCodes, or its restartPolicy is Never. The job fails once fewer than minReplicas are left.",
		},
		Alert{
			Name: "HoldfastElasticJobsFail", Severity: Warning,
			Expr:        fmt.Sprintf(`sum(increase(%s{outcome="Failed"}[1h])) > 3`, series.ElasticFinished.Name),
			Summary:     "More than three ElasticJobs failed in an hour",
			Description: "Each had fewer than minReplicas workers left, too few that succeeded for its successPolicy, or was out of its activeDeadlineSeconds. The Failed condition says which. Look for what they have in common: an image, a node, a data set.",
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
			Expr:        fmt.Sprintf("max(%s) > 0", series.BreakerOpen.Name),
			Summary:     "The rescheduler has stopped moving pods",
			Description: "Too much failed at once for single nodes to be the cause. It starts again by itself after breaker.pause, ten minutes by default.",
		},
		Alert{
			Name: "HoldfastMovesBlocked", Severity: Warning,
			Expr: fmt.Sprintf(`sum(increase(%s{outcome="blocked"}[30m])) > 10 and sum(increase(%s{outcome="moved"}[30m])) < 1`,
				series.Moves.Name, series.Moves.Name),
			Summary:     "PodDisruptionBudgets keep the rescheduler from moving pods",
			Description: "It tried more than ten times in half an hour and moved none.",
		},
		Alert{
			Name: "HoldfastReplacementsSlow", Severity: Warning, For: "10m",
			Expr:        fmt.Sprintf("histogram_quantile(0.9, sum by (le) (rate(%s[30m]))) > 60", series.ReplacementDuration.Bucket()),
			Summary:     "Moved pods wait more than a minute for another node",
			Description: "One in ten took longer than 60 s from the failure to a node. Usually there is no room left outside of the excluded nodes.",
		},
		Alert{
			Name: "HoldfastExclusionsUnreadable", Severity: Warning,
			Expr:        fmt.Sprintf(`sum(increase(%s{reason="Unreadable"}[30m])) > 0`, series.ExclusionsIgnored.Name),
			Summary:     "The scheduler cannot read the nodes that pods are to avoid",
			Description: "Somebody else writes the annotation, or writes it wrongly. Pods are scheduled as if they had none.",
		},
	)}
}
