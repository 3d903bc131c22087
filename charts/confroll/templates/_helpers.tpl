{{- define "confroll.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "confroll.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "confroll.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "confroll.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "confroll.selector" -}}
app.kubernetes.io/name: {{ include "confroll.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "confroll.ownLabels" -}}
{{ include "confroll.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "confroll.labels" -}}
{{ merge (include "confroll.ownLabels" . | fromYaml) .Values.labels | toYaml }}
{{- end -}}

{{- define "confroll.podLabels" -}}
{{ merge (include "confroll.ownLabels" . | fromYaml) .Values.podLabels .Values.labels | toYaml }}
{{- end -}}

{{- define "confroll.account" -}}
{{- default (include "confroll.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "confroll.keySecret" -}}
{{- default (printf "%s-digest-key" (include "confroll.fullname" .)) .Values.digestKeySecret -}}
{{- end -}}

{{/* The namespaces to look at, with commas; the release's own is one of them, as in Reloader's chart. */}}
{{- define "confroll.namespaces" -}}
{{- $listed := .Values.namespaces -}}
{{- if kindIs "string" $listed -}}{{- $listed = splitList "," $listed -}}{{- end -}}
{{- $all := list .Release.Namespace -}}
{{- range $listed -}}{{- with trim . -}}{{- $all = append $all . -}}{{- end -}}{{- end -}}
{{- $all | uniq | join "," -}}
{{- end -}}

{{/* A value as a variable's, unless it is what holds anyway. */}}
{{- define "confroll.env" -}}
{{- $value := index . 1 -}}
{{- if not (or (kindIs "invalid" $value) (eq (toString $value) "") (eq (toString $value) "false")) }}
- name: {{ index . 0 }}
  value: {{ toString $value | quote }}
{{- end -}}
{{- end -}}
