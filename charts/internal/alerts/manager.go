package alerts

import (
	"fmt"

	"github.com/holdfast-project/holdfast/charts/internal/admission"
	"github.com/holdfast-project/holdfast/charts/internal/foreign"
	"github.com/holdfast-project/holdfast/shared/series"
)

// manager is what the alerts about a controller itself are told apart by: they have the same names for all four.
type manager struct {
	title       string
	program     string   // label of holdfast_build_info
	controllers string   // a regular expression
	webhooks    []string // their names; none: it has none
	lease       string
}

func (m manager) alerts() []Alert {
	all := []Alert{
		{
			Program: m.program, Name: "HoldfastControllerDown", Severity: Critical, For: "5m",
			Expr:        fmt.Sprintf(`absent(%s{program="%s"})`, series.BuildInfo.Name, m.program),
			Summary:     "No " + m.title + " is running",
			Description: "No process of it has been scraped for five minutes. Nothing it manages is started, restarted or cleaned up; what runs goes on.",
		},
		{
			Program: m.program, Name: "HoldfastControllerHasNoLeader", Severity: Critical, For: "3m",
			Expr:        fmt.Sprintf(`max(%s{name="%s"}) < 1`, foreign.Leader, m.lease),
			Summary:     "No " + m.title + " leads",
			Description: "Its processes are up, and none of them holds the Lease: nobody acts.",
		},
		{
			Program: m.program, Name: "HoldfastControllerErrors", Severity: Warning, For: "15m",
			Expr: fmt.Sprintf(`sum(rate(%s{controller=~"%s"}[10m])) / sum(rate(%s{controller=~"%s"}[10m])) > 0.1`,
				foreign.ReconcileErrors, m.controllers, foreign.Reconciles, m.controllers),
			Summary:     "More than a tenth of the passes of the " + m.title + " fail",
			Description: "It tries again with a growing pause, so that changes take effect late. Its log names the objects and the errors.",
		},
		{
			Program: m.program, Name: "HoldfastControllerFallsBehind", Severity: Warning, For: "10m",
			Expr: fmt.Sprintf(`histogram_quantile(0.9, sum by (le) (rate(%s_bucket{name=~"%s"}[10m]))) > 30`,
				foreign.QueueTime, m.controllers),
			Summary:     "Objects wait more than half a minute for the " + m.title,
			Description: "One in ten waits longer than 30 s for its turn. More workers (maxConcurrentReconciles) or more calls (clientConnection) may help.",
		},
	}
	if len(m.webhooks) > 0 {
		all = append(all, Alert{
			Program: m.program, Name: "HoldfastWebhookCertExpiry", Severity: Warning, For: "10m",
			Expr:        fmt.Sprintf(`min(%s{program="%s"}) - time() < 7 * 24 * 3600`, series.WebhookCertificateEnd.Name, m.program),
			Summary:     "The certificate of the webhook of the " + m.title + " ends within a week",
			Description: "It should have been renewed long before. Once it has ended, the API server does not believe the webhook any more.",
		}, Alert{
			Program: m.program, Name: "HoldfastWebhookErrors", Severity: Warning, For: "10m",
			Expr:        m.webhookFaults(),
			Summary:     "The webhook of the " + m.title + " fails",
			Description: "It panics, answers with a fault of its own instead of a refusal, or cannot be reached. With failurePolicy Fail, objects cannot be written meanwhile.",
		})
	}
	return all
}

// webhookFaults: of every process its panics, and what the API server has seen. The code of each of our answers is 200, and says nothing.
func (m manager) webhookFaults() string {
	names := admission.Pattern(m.webhooks)
	return fmt.Sprintf(`sum(rate(%s[5m]) * on (job, instance) group_left %s{program="%s"}) > 0`, foreign.WebhookPanics, series.BuildInfo.Name, m.program) +
		fmt.Sprintf(` or sum(rate(%s{name=~"%s",error_type!="no_error"}[5m])) > 0`, foreign.WebhookRejections, names) +
		fmt.Sprintf(` or sum(rate(%s{name=~"%s",error_type="no_error",rejection_code=~"5.."}[5m])) > 0`, foreign.WebhookRejections, names) +
		fmt.Sprintf(` or sum(rate(%s{name=~"%s"}[5m])) > 0`, foreign.WebhookPassedOver, names)
}
