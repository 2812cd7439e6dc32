package boards

import "strings"

// Grafana's variables, and their values outside of Grafana.
const (
	scope      = `namespace=~"$namespace"`
	window     = "$__rate_interval"
	wholeRange = "$__range"
)

// Plain replaces Grafana's variables by all namespaces and one duration.
func Plain(expr, duration string) string {
	return strings.NewReplacer("$namespace", ".*", window, duration, wholeRange, duration).Replace(expr)
}

// from selects the series of a metric in the namespaces of the dashboard, with optional label matchers.
func from(metric string, matchers ...string) string {
	return metric + "{" + strings.Join(append(matchers, scope), ",") + "}"
}

// perSecond returns the rate of a counter, summed by one label.
func perSecond(label, metric string, matchers ...string) string {
	return "sum by (" + label + ") (rate(" + from(metric, matchers...) + "[" + window + "]))"
}

// anywhere returns the rate of a counter in all namespaces. The API server's metrics are in none of the dashboard's.
func anywhere(metric string, matchers ...string) string {
	return "rate(" + metric + "{" + strings.Join(matchers, ",") + "}[" + window + "])"
}

// grown returns the increase of a counter in the window, summed by one label.
func grown(label, metric string, matchers ...string) string {
	return "sum by (" + label + ") (increase(" + from(metric, matchers...) + "[" + window + "]))"
}

// total returns the increase of a counter over the whole time range; 0 if it has no series.
func total(metric string, matchers ...string) string {
	return "(sum(increase(" + from(metric, matchers...) + "[" + wholeRange + "])) or vector(0))"
}

// mean returns the mean observation of a histogram, by one label. The sum may cover only a part of each observation.
func mean(label, sum, count string) string {
	return perSecond(label, sum) + " / " + count
}

// quantile returns a quantile of a histogram, by one label, or of all observations without a label.
func quantile(q, label, bucket string, matchers ...string) string {
	groups := "le"
	if label != "" {
		groups += ", " + label
	}
	return "histogram_quantile(" + q + ", " + perSecond(groups, bucket, matchers...) + ")"
}

// summed returns a gauge, summed by one label.
func summed(label, metric string, matchers ...string) string {
	return "sum by (" + label + ") (" + from(metric, matchers...) + ")"
}

// named returns a query with one label as the legend.
func named(label string, expr string) Query { return Query{expr, "{{" + label + "}}"} }
