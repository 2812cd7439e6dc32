{{- /* Alerts; the argument: {"context": ., "without": names of alerts that would mean nothing}. */}}
{{- define "holdfast.prometheusRule" -}}
{{- with .context }}
{{- if .Values.metrics.prometheusRule.enabled }}
{{- $values := .Values.metrics.prometheusRule }}
{{- /* The rules are generated: files/rules. Each has a page in docs/runbooks. */}}
{{- $group := first (.Files.Get "files/rules/alerts.yaml" | fromYaml).groups }}
{{- $names := list }}
{{- range $group.rules }}
{{- $names = append $names .alert }}
{{- end }}
{{- range $values.disabledAlerts }}
{{- if not (has . $names) }}
{{- fail (printf "metrics.prometheusRule.disabledAlerts: there is no alert %s" .) }}
{{- end }}
{{- end }}
{{- range $name, $threshold := $values.thresholds }}
{{- if not (has $name $names) }}
{{- fail (printf "metrics.prometheusRule.thresholds: there is no alert %s" $name) }}
{{- end }}
{{- end }}
{{- $left := concat $values.disabledAlerts (default list $.without) }}
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: {{ include "holdfast.fullname" . }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.labels" . | nindent 4 }}
    {{- with $values.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  groups:
    - name: {{ $group.name }}
      rules:
        {{- range $group.rules }}
        {{- if not (has .alert $left) }}
        - {{ include "holdfast.alert" (dict "rule" . "values" $values) | indent 10 | trim }}
        {{- end }}
        {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* One alert as the values want it. Its threshold is the number at the end of its expression. */}}
{{- define "holdfast.alert" -}}
{{- $rule := deepCopy .rule }}
{{- $_ := set $rule "labels" (merge (deepCopy .values.additionalRuleLabels) $rule.labels) }}
{{- $_ := set $rule.annotations "runbook_url" (printf "%s/%s.md" (trimSuffix "/" .values.runbookBaseURL) $rule.alert) }}
{{- if hasKey .values.thresholds $rule.alert }}
{{- $last := "([<>]=?) [0-9.]+$" }}
{{- if not (regexMatch $last $rule.expr) }}
{{- fail (printf "metrics.prometheusRule.thresholds: %s has no threshold" $rule.alert) }}
{{- end }}
{{- $_ := set $rule "expr" (regexReplaceAll $last $rule.expr (printf "${1} %v" (get .values.thresholds $rule.alert))) }}
{{- end }}
{{- toYaml $rule }}
{{- end }}
