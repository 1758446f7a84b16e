package kube

import "k8s.io/client-go/rest"

// describe records where a connection's credentials and trusted authorities come from.
func (r *Reach) describe(kubeconfig string, c *rest.Config) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.credentials, r.authority = credentialsOf(kubeconfig, c), authorityOf(kubeconfig, c)
}

// credentialsOf returns the remedy if the API server rejects the credentials.
func credentialsOf(kubeconfig string, c *rest.Config) string {
	where := "kubeconfig " + kubeconfig
	switch {
	case kubeconfig == "" && c.BearerTokenFile == "":
		return "give a kubeconfig with credentials (--kubeconfig)"
	case kubeconfig == "":
		where = "the service account of this pod"
	}
	switch {
	case c.ExecProvider != nil:
		return "check the output of " + c.ExecProvider.Command + ", which " + where + " names (users[].user.exec)"
	case c.BearerTokenFile != "":
		return "put a valid token into " + c.BearerTokenFile + ", of " + where + "; berth rereads it every minute"
	case c.BearerToken != "":
		return "put a valid token into " + where + " (users[].user.token), and restart berth"
	case c.CertFile != "":
		return "put a valid certificate of an authority that the API server trusts into " + c.CertFile + ", which " + where + " names, and restart berth"
	case len(c.CertData) > 0:
		return "put a valid certificate of an authority that the API server trusts into " + where + " (users[].user.client-certificate-data), and restart berth"
	case c.Username != "":
		return "put a valid user name and password into " + where + ", and restart berth"
	}
	return where + " has no credentials: add a token or a client certificate (users[].user), and restart berth"
}

// authorityOf returns the remedy if an unknown authority signed the API server's
// certificate.
func authorityOf(kubeconfig string, c *rest.Config) string {
	if kubeconfig == "" && c.CAFile == "" {
		return "give a kubeconfig with the certificate of the API server's authority (--kubeconfig)"
	}
	what := "put the certificate of the API server's authority into "
	switch {
	case c.CAFile != "" && kubeconfig != "":
		return what + c.CAFile + ", which kubeconfig " + kubeconfig + " names, and restart berth"
	case c.CAFile != "":
		return what + c.CAFile + ", and restart berth"
	case len(c.CAData) > 0:
		return what + "kubeconfig " + kubeconfig + " (clusters[].cluster.certificate-authority-data), and restart berth"
	}
	return "kubeconfig " + kubeconfig + " names no authority: " + what + "it (clusters[].cluster.certificate-authority-data), and start again"
}
