{{/* The settings of `confroll watch`. */}}
{{- define "confroll.environment" -}}
{{- $values := .Values -}}
{{- $ignored := list -}}
{{- if $values.ignoreJobs }}{{ $ignored = append $ignored "jobs" }}{{ end -}}
{{- if $values.ignoreCronJobs }}{{ $ignored = append $ignored "cronjobs" }}{{ end -}}
{{- with $values.ignoredWorkloadTypes }}{{ $ignored = append $ignored . }}{{ end -}}
- name: CONFROLL_DIGEST_KEY_SECRET
  value: {{ include "confroll.keySecret" . | quote }}
{{- if not $values.watchGlobally }}
- name: CONFROLL_NAMESPACES
  value: {{ include "confroll.namespaces" . | quote }}
{{- end }}
{{- include "confroll.env" (list "CONFROLL_IGNORE_NAMESPACES" $values.ignoreNamespaces) }}
{{- include "confroll.env" (list "CONFROLL_NAMESPACE_SELECTOR" $values.namespaceSelector) }}
{{- include "confroll.env" (list "CONFROLL_RESOURCE_LABEL_SELECTOR" $values.resourceLabelSelector) }}
{{- include "confroll.env" (list "CONFROLL_IGNORE_CONFIGMAPS" $values.ignoreConfigMaps) }}
{{- include "confroll.env" (list "CONFROLL_IGNORE_SECRETS" $values.ignoreSecrets) }}
{{- include "confroll.env" (list "CONFROLL_IGNORED_WORKLOAD_TYPES" (join "," $ignored)) }}
{{- include "confroll.env" (list "CONFROLL_AUTO_RELOAD_ALL" $values.autoReloadAll) }}
{{- include "confroll.env" (list "CONFROLL_ENABLE_CSI_INTEGRATION" $values.enableCSIIntegration) }}
{{- include "confroll.env" (list "CONFROLL_CROSS_NAMESPACE" $values.crossNamespace) }}
{{- include "confroll.env" (list "CONFROLL_KINDS" $values.kinds) }}
{{- include "confroll.env" (list "CONFROLL_RELOAD_ON_CREATE" $values.reloadOnCreate) }}
{{- include "confroll.env" (list "CONFROLL_RELOAD_ON_DELETE" $values.reloadOnDelete) }}
{{- if ne $values.reloadStrategy "default" }}
{{- include "confroll.env" (list "CONFROLL_RELOAD_STRATEGY" $values.reloadStrategy) }}
{{- end }}
{{- include "confroll.env" (list "CONFROLL_SYNC_PERIOD" $values.syncPeriod) }}
{{- $keys := dict "configmap" "CONFIGMAP" "secret" "SECRET" "auto" "AUTO" "configmap_auto" "CONFIGMAP_AUTO" "secret_auto" "SECRET_AUTO" "search" "AUTO_SEARCH" "match" "SEARCH_MATCH" "ignore" "IGNORE" "pausePeriod" "PAUSE_DEPLOYMENT" "pauseTime" "PAUSE_DEPLOYMENT_TIME" }}
{{- range $name, $variable := $keys }}
{{- include "confroll.env" (list (printf "CONFROLL_%s_ANNOTATION" $variable) (index $values.custom_annotations $name)) }}
{{- end }}
{{- if $values.alerts.enabled }}
- name: ALERT_ON_RELOAD
  value: "true"
- name: ALERT_WEBHOOK_URL
  valueFrom: { secretKeyRef: { name: {{ $values.alerts.secretName }}, key: {{ $values.alerts.secretKey }} } }
{{- include "confroll.env" (list "ALERT_SINK" $values.alerts.sink) }}
{{- include "confroll.env" (list "ALERT_WEBHOOK_PROXY" $values.alerts.proxy) }}
{{- include "confroll.env" (list "ALERT_ADDITIONAL_INFO" $values.alerts.additionalInfo) }}
{{- end }}
{{- include "confroll.env" (list "K_SINK" $values.sink) }}
{{- include "confroll.env" (list "CONFROLL_CLUSTER" $values.cluster) }}
{{- include "confroll.env" (list "CONFROLL_LINK" $values.link) }}
{{- if not $values.kubernetesEvents }}
- name: CONFROLL_KUBERNETES_EVENTS
  value: "false"
{{- end }}
{{- include "confroll.env" (list "CONFROLL_METRICS_BY_NAMESPACE" $values.enableMetricsByNamespace) }}
{{- include "confroll.env" (list "CONFROLL_LOG_LEVEL" $values.logLevel) }}
{{- include "confroll.env" (list "CONFROLL_LOG_FORMAT" $values.logFormat) }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}
