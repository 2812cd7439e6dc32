{{- define "holdfast.valkeyServer" -}}
{{- if .Values.valkey.enabled }}
{{- $v := .Values.valkey }}
{{- $name := include "holdfast.valkeyName" . }}
{{- $auth := include "holdfast.storeAuth" . }}
{{- $tls := include "holdfast.storeTLS" . }}
{{- $password := include "holdfast.valkeyPasswordSecret" . }}
# Headless: there is one pod, and clients resolve its new address after it has been replaced.
apiVersion: v1
kind: Service
metadata:
  name: {{ $v.serviceName }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.valkeyLabels" . | nindent 4 }}
spec:
  clusterIP: None
  selector:
    {{- include "holdfast.valkeySelectorLabels" . | nindent 4 }}
  ports:
    - name: valkey
      port: {{ $v.port }}
      targetPort: valkey
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "holdfast.valkeyLabels" . | nindent 4 }}
spec:
  replicas: 1
  {{- /* With the default, a pod that never became ready would not be replaced after an upgrade to a correct template. */}}
  podManagementPolicy: Parallel
  serviceName: {{ $v.serviceName }}
  selector:
    matchLabels:
      {{- include "holdfast.valkeySelectorLabels" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "holdfast.valkeySelectorLabels" . | nindent 8 }}
        {{- /* Nothing here may depend on the version of the chart or on global values, because a change replaces the pod. */}}
        {{- with $v.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $v.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- with include "holdfast.pullSecrets" . | fromYamlArray }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        {{- toYaml $v.podSecurityContext | nindent 8 }}
      {{- with $v.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      terminationGracePeriodSeconds: {{ int $v.terminationGracePeriodSeconds }}
      containers:
        - name: valkey
          image: {{ include "holdfast.image" (dict "image" $v.image "value" "valkey.image" "context" .) }}
          imagePullPolicy: {{ $v.image.pullPolicy }}
          command:
            - valkey-server
          args:
            {{- if $tls }}
            - --tls-port
            - {{ $v.port | quote }}
            - --port # without TLS: none
            - "0"
            - --tls-cert-file
            - /etc/valkey-tls/tls.crt
            - --tls-key-file
            - /etc/valkey-tls/tls.key
            - --tls-ca-cert-file
            - /etc/valkey-tls/ca.crt
            - --tls-auth-clients # clients authenticate with a password
            - "no"
            {{- else }}
            - --port
            - {{ $v.port | quote }}
            {{- end }}
            - --bind
            - "*"
            - "-::*" # also IPv6, if available
            - --protected-mode
            - "no"
            - --dir
            - /data
            - --maxclients # two connections of each agent, and the orchestrators'
            - {{ add (mul (int $v.agents) 2) 100 | quote }}
            - --maxmemory-policy # the data belongs to running jobs
            - noeviction
            - --maxmemory
            - {{ $v.maxMemory | quote }}
            - --proto-max-bulk-len # no call has a longer argument
            - 1mb
            - --appendonly
            - "yes"
            - --appendfsync
            - everysec
            - --save
            - ""
            {{- if $auth }}
            - --user # agents without credentials
            - default
            {{- if eq $v.auth.defaultUser "agents" }}
            - "on"
            - nopass
            {{- range .Files.Lines "files/valkey/agents.rules" }}
            - {{ . | quote }}
            {{- end }}
            {{- else }}
            - "off" # rejects logins; the server replays transactions in its append-only file with these permissions
            - "~*"
            - "&*"
            - +@all
            {{- end }}
            - --user
            - {{ include "holdfast.valkeyUser" . }}
            - "on"
            - ">$(VALKEY_PASSWORD)"
            {{- range .Files.Lines "files/valkey/orchestrator.rules" }}
            - {{ . | quote }}
            {{- end }}
            {{- else if $password }}
            - --requirepass
            - $(VALKEY_PASSWORD)
            {{- end }}
          {{- if $password }}
          env:
            - name: VALKEY_PASSWORD
              valueFrom:
                secretKeyRef:
                  name: {{ $password }}
                  key: {{ include "holdfast.valkeyPasswordKey" . }}
          {{- end }}
          ports:
            - name: valkey
              containerPort: {{ $v.port }}
          {{- if $tls }}
          startupProbe: # also determines readiness; each connection without TLS adds a line to the log, so the liveness probe is infrequent
            tcpSocket:
              port: valkey
            periodSeconds: 1
            failureThreshold: 60
          livenessProbe:
            tcpSocket:
              port: valkey
            periodSeconds: 60
            timeoutSeconds: 5
          {{- else }}
          livenessProbe:
            tcpSocket:
              port: valkey
            initialDelaySeconds: 15
            periodSeconds: 20
            timeoutSeconds: 5
          readinessProbe:
            tcpSocket:
              port: valkey
            periodSeconds: 2
          {{- end }}
          resources:
            {{- toYaml $v.resources | nindent 12 }}
          securityContext:
            {{- toYaml $v.securityContext | nindent 12 }}
          volumeMounts:
            - name: data
              mountPath: /data
            {{- if $tls }}
            - name: tls
              mountPath: /etc/valkey-tls
              readOnly: true
            {{- end }}
      {{- if or $tls (not $v.persistence.enabled) }}
      volumes:
        {{- if not $v.persistence.enabled }}
        - name: data
          emptyDir: {}
        {{- end }}
        {{- if $tls }}
        - name: tls
          secret:
            secretName: {{ include "holdfast.valkeyTLSSecret" . }}
            items: # the pod does not start until the Secret has these keys
              - key: ca.crt
                path: ca.crt
              - key: tls.crt
                path: tls.crt
              - key: tls.key
                path: tls.key
        {{- end }}
      {{- end }}
      {{- with $v.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $v.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
  {{- if $v.persistence.enabled }}
  volumeClaimTemplates:
    - apiVersion: v1
      kind: PersistentVolumeClaim
      metadata:
        name: data
      spec:
        accessModes:
          {{- toYaml $v.persistence.accessModes | nindent 10 }}
        {{- with $v.persistence.storageClassName }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests:
            storage: {{ $v.persistence.size }}
  {{- end }}
{{- end }}
{{- end }}
