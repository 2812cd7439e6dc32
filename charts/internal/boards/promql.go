package boards

import "strings"

// Grafana's variables, and what stands for each where there is no Grafana.
const (
	scope      = `namespace=~"$namespace"`
	window     = "$__rate_interval"
	wholeRange = "$__range"
)

// Plain replaces Grafana's variables: every namespace, and one window for all.
func Plain(expr, duration string) string {
	return strings.NewReplacer("$namespace", ".*", window, duration, wholeRange, duration).Replace(expr)
}

// from selects the series of a metric in the board's namespaces; a label matcher may be added.
func from(metric string, matchers ...string) string {
	return metric + "{" + strings.Join(append(matchers, scope), ",") + "}"
}

// perSecond is the rate of a counter, added up but for one label.
func perSecond(label, metric string, matchers ...string) string {
	return "sum by (" + label + ") (rate(" + from(metric, matchers...) + "[" + window + "]))"
}

// anywhere is the rate of a counter whatever the board's namespaces are: the API server's is none of them.
func anywhere(metric string, matchers ...string) string {
	return "rate(" + metric + "{" + strings.Join(matchers, ",") + "}[" + window + "])"
}

// grown is how much a counter grew in the window, added up but for one label.
func grown(label, metric string, matchers ...string) string {
	return "sum by (" + label + ") (increase(" + from(metric, matchers...) + "[" + window + "]))"
}

// total is how much a counter grew in all that the board shows; 0 where nothing was counted.
func total(metric string, matchers ...string) string {
	return "(sum(increase(" + from(metric, matchers...) + "[" + wholeRange + "])) or vector(0))"
}

// mean of a histogram's observations, for each value of a label. The observations of the numerator may be parts of those that count.
func mean(label, sum, count string) string {
	return perSecond(label, sum) + " / " + count
}

// quantile of a histogram, for each value of a label; without a label, of all.
func quantile(q, label, bucket string, matchers ...string) string {
	groups := "le"
	if label != "" {
		groups += ", " + label
	}
	return "histogram_quantile(" + q + ", " + perSecond(groups, bucket, matchers...) + ")"
}

// summed is a gauge, added up but for one label.
func summed(label, metric string, matchers ...string) string {
	return "sum by (" + label + ") (" + from(metric, matchers...) + ")"
}

// named is a query whose series are told apart by one label.
func named(label string, expr string) Query { return Query{expr, "{{" + label + "}}"} }
