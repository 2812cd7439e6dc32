package alerts

import (
	"fmt"

	"github.com/holdfast-project/holdfast/charts/internal/admission"
	"github.com/holdfast-project/holdfast/charts/internal/foreign"
	"github.com/holdfast-project/holdfast/shared/series"
)

// manager distinguishes the alerts about a controller, which have the same names for all of them.
type manager struct {
	title       string
	program     string   // label of holdfast_build_info
	controllers string   // a regular expression
	webhooks    []string // names of its webhooks, if it has any
	lease       string
}

func (m manager) alerts() []Alert {
	all := []Alert{
		{
			Program: m.program, Name: "HoldfastControllerDown", Severity: Critical, For: "5m",
			Expr:        fmt.Sprintf(`absent(%s{program="%s"})`, series.BuildInfo.Name, m.program),
			Summary:     "No " + m.title + " is running",
			Description: "Prometheus scrapes none of its pods. Running pods continue, but nothing is started, restarted or cleaned up. Check its pods first.",
		},
		{
			Program: m.program, Name: "HoldfastControllerHasNoLeader", Severity: Critical, For: "3m",
			Expr:        fmt.Sprintf(`max by (cluster, namespace) (%s{name="%s"}) < 1`, foreign.Leader, m.lease),
			Summary:     "No " + m.title + " is the leader",
			Description: "Its processes run, but none of them holds the Lease, so none of them acts. Check the Lease and the API server.",
		},
		{
			Program: m.program, Name: "HoldfastControllerErrors", Severity: Warning, For: "15m", Threshold: "0.1",
			Expr: fmt.Sprintf(`sum by (cluster, namespace) (rate(%s{controller=~"%s"}[10m])) / sum by (cluster, namespace) (rate(%s{controller=~"%s"}[10m])) > THRESHOLD`,
				foreign.ReconcileErrors, m.controllers, foreign.Reconciles, m.controllers),
			Summary:     "More than {{ THRESHOLD | humanizePercentage }} of the reconciles of the " + m.title + " fail",
			Description: "It retries with increasing delays, so changes take effect late. Its log names the objects and the errors.",
		},
		{
			Program: m.program, Name: "HoldfastControllerFallsBehind", Severity: Warning, For: "10m", Threshold: "30",
			Expr: fmt.Sprintf(`histogram_quantile(0.9, sum by (cluster, namespace, le) (rate(%s_bucket{name=~"%s"}[10m]))) > THRESHOLD`,
				foreign.QueueTime, m.controllers),
			Summary:     "Objects wait longer than {{ THRESHOLD | humanizeDuration }} for the " + m.title,
			Description: "One in ten objects waits longer than this in the queue. Raise maxConcurrentReconciles, or the limits in clientConnection.",
		},
	}
	if len(m.webhooks) > 0 {
		all = append(all, Alert{
			Program: m.program, Name: "HoldfastWebhookCertExpiry", Severity: Warning, For: "10m", Threshold: "604800",
			Expr:        fmt.Sprintf(`min by (cluster, namespace) (%s{program="%s"}) - time() < THRESHOLD`, series.WebhookCertificateEnd.Name, m.program),
			Summary:     "The certificate of the webhook of the " + m.title + " expires within {{ THRESHOLD | humanizeDuration }}",
			Description: "It has not been renewed as expected. When it has expired, the API server cannot call the webhook. Check what renews it.",
		}, Alert{
			Program: m.program, Name: "HoldfastWebhookErrors", Severity: Warning, For: "10m", Threshold: "0",
			Expr:        m.webhookFaults(),
			Summary:     "The webhook of the " + m.title + " fails",
			Description: "It panics, returns an internal error, or is unreachable. With failurePolicy Fail, objects cannot be written meanwhile. Check the manager's log and its Service.",
		})
	}
	return all
}

// webhookFaults returns the panics of each process and the failures that the API server counts, both per second. The HTTP status of our responses is always
// 200.
func (m manager) webhookFaults() string {
	names := admission.Pattern(m.webhooks)
	return fmt.Sprintf(`sum by (cluster, namespace) (rate(%s[5m]) * on (job, instance) group_left %s{program="%s"}) > THRESHOLD`, foreign.WebhookPanics, series.BuildInfo.Name, m.program) +
		fmt.Sprintf(` or sum by (cluster, namespace) (rate(%s{name=~"%s",error_type!="no_error"}[5m])) > THRESHOLD`, foreign.WebhookRejections, names) +
		fmt.Sprintf(` or sum by (cluster, namespace) (rate(%s{name=~"%s",error_type="no_error",rejection_code=~"5.."}[5m])) > THRESHOLD`, foreign.WebhookRejections, names) +
		fmt.Sprintf(` or sum by (cluster, namespace) (rate(%s{name=~"%s"}[5m])) > THRESHOLD`, foreign.WebhookPassedOver, names)
}
