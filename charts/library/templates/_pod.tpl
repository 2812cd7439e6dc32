{{- /* An image reference. Argument: {"image": ..., "value": its path in the values, "context": .}. A digest takes precedence over a tag. */}}
{{- define "holdfast.image" -}}
{{- $image := .image }}
{{- $registry := coalesce $image.registry (default dict .context.Values.global).imageRegistry }}
{{- if not $registry }}
{{- fail (printf "%s.registry: there is no public image %s. Push the images to your registry (make images), and set global.imageRegistry or this value to it" .value $image.repository) }}
{{- end }}
{{- $registry }}/{{ $image.repository }}
{{- if $image.digest }}@{{ $image.digest }}{{ else }}:{{ default .context.Chart.AppVersion $image.tag }}{{ end }}
{{- end }}

{{- /* The chart's pull Secrets and the global ones, as a list. */}}
{{- define "holdfast.pullSecrets" -}}
{{- concat (default list (default dict .Values.global).imagePullSecrets) .Values.imagePullSecrets | uniq | toYaml }}
{{- end }}

{{- /* The names of the pull Secrets, in the format of a flag. */}}
{{- define "holdfast.pullSecretNames" -}}
{{- $names := list }}
{{- range include "holdfast.pullSecrets" . | fromYamlArray }}
{{- $names = append $names .name }}
{{- end }}
{{- join "," $names }}
{{- end }}

{{- /* The beginning of a pod spec. Argument: {"account": its service account, "context": .}. */}}
{{- define "holdfast.pod" -}}
{{- $v := .context.Values -}}
serviceAccountName: {{ .account }}
{{- with include "holdfast.pullSecrets" .context | fromYamlArray }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- toYaml $v.podSecurityContext | nindent 2 }}
{{- with $v.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
terminationGracePeriodSeconds: {{ int $v.terminationGracePeriodSeconds }}
{{- end }}

{{- /* Scheduling constraints of pods. Without an affinity, replicas prefer different nodes. Argument: {"component": ..., "replicas": their number,
"context": .}. */}}
{{- define "holdfast.placement" -}}
{{- $v := .context.Values }}
{{- with $v.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $v.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if $v.affinity }}
affinity:
  {{- toYaml $v.affinity | nindent 2 }}
{{- else if gt (int .replicas) 1 }}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "holdfast.componentLabels" . | nindent 14 }}
{{- end }}
{{- end }}

{{- define "holdfast.memoryLimit" -}}
- name: GOMEMLIMIT # collect garbage before the kernel kills the process
  valueFrom:
    resourceFieldRef:
      resource: limits.memory
{{- end }}

{{- /* Environment variables of a program. Argument: additional ones, which replace those with the same name. */}}
{{- define "holdfast.env" -}}
{{- $names := list }}
{{- range . }}{{ $names = append $names .name }}{{ end }}
{{- if not (has "POD_NAMESPACE" $names) }}
- name: POD_NAMESPACE # namespace of the Lease
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- end }}
{{- if not (has "GOMEMLIMIT" $names) }}
{{ include "holdfast.memoryLimit" . }}
{{- end }}
{{- with . }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Probes of a program. Argument: the name of its health port. */}}
{{- define "holdfast.probes" -}}
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

{{- /* Arguments that all managers share. */}}
{{- define "holdfast.managerArgs" -}}
- --leader-elect={{ .Values.leaderElection.enabled }}
- --health-probe-bind-address=:{{ .Values.healthPort }}
{{- if .Values.metrics.enabled }}
- --metrics-bind-address=:{{ .Values.metrics.port }}
- --metrics-secure={{ .Values.metrics.secure }}
{{- else }}
- --metrics-bind-address=0
{{- end }}
- --kube-api-qps={{ .Values.clientConnection.qps }}
- --kube-api-burst={{ int .Values.clientConnection.burst }}
- --max-concurrent-reconciles={{ int .Values.maxConcurrentReconciles }}
- --zap-log-level={{ .Values.logLevel }}
{{- with .Values.webhook }}
{{- if .enabled }}
- --webhooks
- --webhook-port={{ .port }}
{{- if ne $.Values.certificates.mode "internal" }}
- --webhook-cert-dir={{ include "holdfast.certificateFolder" $ }} # another program maintains it
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.config }}
- --config=/etc/{{ .Chart.Name }}/config.yaml
{{- end }}
{{- end }}

{{- define "holdfast.managerPorts" -}}
- name: health
  containerPort: {{ .Values.healthPort }}
{{- if .Values.metrics.enabled }}
- name: metrics
  containerPort: {{ .Values.metrics.port }}
{{- end }}
{{- with .Values.webhook }}
{{- if .enabled }}
- name: webhook
  containerPort: {{ .port }}
{{- end }}
{{- end }}
{{- end }}
