{{- /* Names that the manager looks for. */}}
{{- define "rescheduler.webhookService" -}}
rescheduler-webhook-service
{{- end }}

{{- define "rescheduler.certificateSecret" -}}
{{- if eq .Values.certificates.mode "existingSecret" }}
{{- .Values.certificates.existingSecret }}
{{- else -}}
rescheduler-webhook-server-cert
{{- end }}
{{- end }}

{{- define "rescheduler.certificate" -}}
{{ include "rescheduler.fullname" . | trunc 55 | trimSuffix "-" }}-webhook
{{- end }}

{{- define "rescheduler.certificateFolder" -}}
/tmp/k8s-webhook-server/serving-certs
{{- end }}

{{- /* Pods that are let through unseen: those that nobody replaces, and those whose node is chosen already. */}}
{{- define "rescheduler.webhookConditions" -}}
- name: has-a-controller
  expression: has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(r, has(r.controller) && r.controller && r.kind != 'DaemonSet' && r.kind != 'Node')
- name: has-no-node
  expression: "!has(object.spec.nodeName) || object.spec.nodeName == ''"
{{- end }}

{{- define "rescheduler.webhookArgs" -}}
- --webhooks
- --webhook-port={{ .Values.webhook.port }}
{{- if ne .Values.certificates.mode "internal" }}
- --webhook-cert-dir={{ include "rescheduler.certificateFolder" . }} # somebody else keeps it
{{- end }}
{{- end }}
