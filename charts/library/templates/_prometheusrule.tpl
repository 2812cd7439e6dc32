{{- /* Alerts. Argument: {"context": ., "without": names of alerts to omit}. */}}
{{- define "holdfast.prometheusRule" -}}
{{- with .context }}
{{- if .Values.metrics.prometheusRule.enabled }}
{{- $values := .Values.metrics.prometheusRule }}
{{- /* The rules are generated, see files/rules. Each alert has a page in docs/runbooks. */}}
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
{{- range $setting := list "thresholds" "for" }}
{{- range $name, $_ := get $values $setting }}
{{- if not (has $name $names) }}
{{- fail (printf "metrics.prometheusRule.%s: there is no alert %s" $setting $name) }}
{{- end }}
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

{{- /* One alert with the settings from the values. THRESHOLD in its texts is replaced by its threshold. */}}
{{- define "holdfast.alert" -}}
{{- $rule := deepCopy .rule }}
{{- $_ := set $rule "labels" (merge (deepCopy .values.additionalRuleLabels) $rule.labels) }}
{{- $_ := set $rule.annotations "runbook_url" (printf "%s/%s.md" (trimSuffix "/" .values.runbookBaseURL) $rule.alert) }}
{{- with get .values.for $rule.alert }}
{{- $_ := set $rule "for" . }}
{{- end }}
{{- $threshold := $rule.threshold }}
{{- if hasKey .values.thresholds $rule.alert }}
{{- if not $threshold }}
{{- fail (printf "metrics.prometheusRule.thresholds: %s has no threshold" $rule.alert) }}
{{- end }}
{{- $threshold = toString (get .values.thresholds $rule.alert) }}
{{- end }}
{{- if $threshold }}
{{- $_ := set $rule "expr" (replace "THRESHOLD" $threshold $rule.expr) }}
{{- range $text := list "summary" "description" }}
{{- $_ := set $rule.annotations $text (replace "THRESHOLD" $threshold (get $rule.annotations $text)) }}
{{- end }}
{{- $_ := unset $rule "threshold" }}
{{- end }}
{{- toYaml $rule }}
{{- end }}
