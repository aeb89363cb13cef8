{{- define "authwire.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "authwire.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "authwire.instance" . }}
{{- end }}

{{- define "authwire.instance" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* Selects the pods that serve, but not those of the migration. */}}
{{- define "authwire.selector" -}}
{{ include "authwire.instance" . }}
app.kubernetes.io/component: server
{{- end }}

{{- define "authwire.drainDelayMs" -}}
{{ dig "AUTHWIRE_DRAIN_DELAY_MS" "5000" .Values.config }}
{{- end }}

{{- /* The time that a pod has to terminate, in seconds. */}}
{{- define "authwire.terminationSeconds" -}}
{{- $graceMs := dig "AUTHWIRE_SHUTDOWN_GRACE_MS" "10000" .Values.config }}
{{- add (div (add (include "authwire.drainDelayMs" . | int) (int $graceMs) 999) 1000) 15 }}
{{- end }}

{{- /* The settings that the serving pods and the migration pods have in common. */}}
{{- define "authwire.pod" -}}
automountServiceAccountToken: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "authwire.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
envFrom:
  - secretRef:
      name: {{ .Values.existingSecret }}
{{- end }}

{{- define "authwire.scheme" -}}
{{ if .Values.tls.existingSecret }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}

{{- /*
A gRPC probe does not support TLS, and needs the gRPC health service, which AUTHWIRE_HEALTH can disable. gRPC health and
/readyz report the same: whether the database answers.
*/}}
{{- define "authwire.ready" -}}
{{- if or .Values.tls.existingSecret (eq (dig "AUTHWIRE_HEALTH" "on" .Values.config) "off") -}}
httpGet:
  path: /readyz
  port: http
  scheme: {{ include "authwire.scheme" . }}
{{- else -}}
grpc:
  port: 50051
{{- end }}
{{- end }}
