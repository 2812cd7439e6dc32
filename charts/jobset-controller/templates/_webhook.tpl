{{- /* The manager and other projects expect names with this prefix. */}}
{{- define "jobset-controller.webhookName" -}}
jobset
{{- end }}
