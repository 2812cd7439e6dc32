{{- define "rescheduler.memoryLimit" -}}
- name: GOMEMLIMIT # collect garbage before the kernel ends the program
  valueFrom:
    resourceFieldRef:
      resource: limits.memory
{{- end }}

{{- define "rescheduler.env" -}}
- name: POD_NAMESPACE # of the Lease
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{ include "rescheduler.memoryLimit" . }}
{{- end }}

{{- /* Probes of a program, given the name of its health port. */}}
{{- define "rescheduler.probes" -}}
livenessProbe:
  httpGet:
    path: /healthz
    port: {{ . }}
  initialDelaySeconds: 15
  periodSeconds: 20
readinessProbe:
  httpGet:
    path: /readyz
    port: {{ . }}
  periodSeconds: 5
{{- end }}
