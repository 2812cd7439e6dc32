{{- /* Alerts. Argument: {"context": ., "without": names of alerts to omit}. */}}
{{- define "holdfast.prometheusRule" -}}
{{- with .context }}
{{- if .Values.metrics.prometheusRule.enabled }}
{{- $values := .Values.metrics.prometheusRule }}
{{- $rules := include "holdfast.alerts" . | fromYamlArray }}
{{- $names := list }}
{{- range $rules }}
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
    - name: holdfast.{{ .Chart.Name }}
      rules:
        {{- range $rules }}
        {{- if not (has .alert $left) }}
        - {{ include "holdfast.alert" (dict "rule" . "values" $values) | indent 10 | trim }}
        {{- end }}
        {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* A chart's alerts without the user's settings: the alerts of every controller, the alerts that some charts share, and the chart's own. */}}
{{- define "holdfast.alerts" -}}
{{- $library := (index .Subcharts "holdfast-library").Files }}
{{- $chart := .Files.Get "files/rules/alerts.yaml" | fromYaml }}
{{- $webhooks := list }}
{{- range splitList "---\n" (.Files.Get "files/webhook/manifests.yaml") }}
{{- range (fromYaml .).webhooks }}
{{- $webhooks = append $webhooks (regexQuoteMeta .name | replace "\\" "\\\\") }}
{{- end }}
{{- end }}
{{- $manager := $library.Get "files/rules/manager.yaml" | replace "WEBHOOKS" (join "|" $webhooks) }}
{{- range $word, $value := $chart.manager }}
{{- $manager = replace (upper $word) $value $manager }}
{{- end }}
{{- $rules := list }}
{{- range (fromYaml $manager).rules }}
{{- if or $webhooks (not (hasPrefix "HoldfastWebhook" .alert)) }}
{{- $rules = append $rules . }}
{{- end }}
{{- end }}
{{- range $chart.shared }}
{{- $rules = concat $rules ($library.Get (printf "files/rules/%s.yaml" .) | fromYaml).rules }}
{{- end }}
{{- concat $rules (default list $chart.rules) | toYaml }}
{{- end }}

{{- /* One alert with the settings from the values. Its threshold replaces THRESHOLD in its texts. */}}
{{- define "holdfast.alert" -}}
{{- $rule := deepCopy .rule }}
{{- $_ := set $rule "labels" (merge (deepCopy .values.additionalRuleLabels) $rule.labels) }}
{{- $_ := set $rule.annotations "runbook_url" (printf "%s/%s.md" (trimSuffix "/" .values.runbookBaseURL) $rule.alert) }}
{{- $value := " Value: {{ printf `%.6g` $value }}.{{ range $name, $label := $labels }} {{ $name }}={{ $label }}{{ end }}" }}
{{- $_ := set $rule.annotations "description" (print $rule.annotations.description $value) }}
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
