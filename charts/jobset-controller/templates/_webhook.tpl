{{- /* The manager, and other projects, looks for names that begin with it. */}}
{{- define "jobset-controller.webhookName" -}}
jobset
{{- end }}
