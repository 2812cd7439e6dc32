{{- /* The container that leads in-place restarts. */}}
{{- define "jobset-controller.orchestrator" -}}
{{- $o := .Values.orchestrator -}}
- name: orchestrator
  image: {{ include "holdfast.image" (dict "image" $o.image "value" "orchestrator.image" "context" .) }}
  imagePullPolicy: {{ $o.image.pullPolicy }}
  args:
    - --valkey-address={{ include "jobset-controller.valkeyAddress" . }}
    {{- with include "jobset-controller.valkeyUser" . }}
    - --valkey-username={{ . }}
    {{- end }}
    {{- if include "jobset-controller.valkeyPasswordSecret" . }}
    - --valkey-password-file=/etc/valkey-password/password
    {{- end }}
    {{- with include "jobset-controller.emptyPasswordSecret" . }}
    - --valkey-password-secret={{ . }}
    {{- end }}
    {{- if include "jobset-controller.storeTLS" . }}
    - --valkey-tls-ca-file=/etc/valkey-tls/ca.crt
    {{- with include "jobset-controller.emptyTLSSecret" . }}
    - --valkey-tls-secret={{ . }}
    {{- end }}
    {{- with .Values.valkey.tls.serverName }}
    - --valkey-tls-server-name={{ . }}
    {{- end }}
    {{- end }}
    {{- if include "jobset-controller.storeAuth" . }}
    - --valkey-acl
    - --valkey-password-max-age={{ .Values.valkey.auth.passwordMaxAge }}
    {{- end }}
    {{- if $o.elasticJobs }}
    - --elasticjobs
    {{- end }}
    - --leader-election-lease-duration={{ $o.leaseDuration }}
    - --health-probe-bind-address=:{{ $o.healthPort }}
    {{- if $o.metrics.enabled }}
    - --metrics-bind-address=:{{ $o.metrics.port }}
    {{- else }}
    - --metrics-bind-address=0
    {{- end }}
    - --kube-api-qps={{ $o.clientConnection.qps }}
    - --kube-api-burst={{ int $o.clientConnection.burst }}
    - --max-concurrent-reconciles={{ int $o.maxConcurrentReconciles }}
    - --zap-log-level={{ $o.logLevel }}
    {{- with $o.extraArgs }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  env:
    {{- include "holdfast.env" . | nindent 4 }}
    {{- with $o.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - name: orch-health
      containerPort: {{ $o.healthPort }}
    {{- if $o.metrics.enabled }}
    - name: orch-metrics
      containerPort: {{ $o.metrics.port }}
    {{- end }}
  {{- include "holdfast.probes" "orch-health" | nindent 2 }}
  resources:
    {{- toYaml $o.resources | nindent 4 }}
  securityContext:
    {{- toYaml .Values.securityContext | nindent 4 }}
  {{- $password := include "jobset-controller.valkeyPasswordSecret" . }}
  {{- $tls := include "jobset-controller.storeTLS" . }}
  {{- if or $password $tls $o.extraVolumeMounts }}
  volumeMounts:
    {{- if $password }}
    - name: valkey-password
      mountPath: /etc/valkey-password
      {{- if not (include "jobset-controller.emptyPasswordSecret" .) }}
      readOnly: true
      {{- end }}
    {{- end }}
    {{- if $tls }}
    - name: valkey-tls
      mountPath: /etc/valkey-tls
      {{- if not (include "jobset-controller.emptyTLSSecret" .) }}
      readOnly: true
      {{- end }}
    {{- end }}
    {{- with $o.extraVolumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
{{- end }}

{{- /* A Secret that the orchestrator fills is not mounted: the pod would wait for its keys. The orchestrator copies it into memory. */}}
{{- define "jobset-controller.orchestratorVolumes" -}}
{{- if include "jobset-controller.emptyPasswordSecret" . }}
- name: valkey-password
  emptyDir:
    medium: Memory
    sizeLimit: 1Mi
{{- else if include "jobset-controller.valkeyPasswordSecret" . }}
- name: valkey-password
  secret:
    secretName: {{ include "jobset-controller.valkeyPasswordSecret" . }}
    items:
      - key: {{ include "jobset-controller.valkeyPasswordKey" . }}
        path: password
{{- end }}
{{- if include "jobset-controller.emptyTLSSecret" . }}
- name: valkey-tls
  emptyDir:
    medium: Memory
    sizeLimit: 1Mi
{{- else if include "jobset-controller.storeTLS" . }}
- name: valkey-tls
  secret:
    secretName: {{ include "jobset-controller.valkeyTLSSecret" . }}
    items:
      - key: ca.crt
        path: ca.crt
{{- end }}
{{- end }}
