{{- define "elastic-operator.podNamespace" -}}
- name: POD_NAMESPACE # of the Lease
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end }}

{{- /* Probes of a program, given the name of its health port. */}}
{{- define "elastic-operator.probes" -}}
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
