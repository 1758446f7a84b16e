package kube

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

// The ConfigMap in which the API server publishes how clients are known to it, so that
// servers beside it know them too.
const (
	lookupNamespace = metav1.NamespaceSystem
	lookupName      = "extension-apiserver-authentication"
	lookupKey       = "client-ca-file"
)

// ClientCAOfFile has the authorities of a file, which is followed until ctx ends.
//
// # Errors
//
// The file cannot be read, or has no certificates.
func ClientCAOfFile(ctx context.Context, file string) (dynamiccertificates.CAContentProvider, error) {
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", file)
	if err != nil {
		return nil, err
	}
	go ca.Run(ctx, 1)
	return ca, nil
}

// ClientCAOfCluster has the authorities that the API server takes client certificates
// of, from the ConfigMap kube-system/extension-apiserver-authentication, which is
// followed until ctx ends. Until it can be read nobody has a certificate. A caller that
// must has it looked for at once.
//
// # Errors
//
// With must, that it cannot be read.
func ClientCAOfCluster(ctx context.Context, client kubernetes.Interface, must bool) (dynamiccertificates.CAContentProvider, error) {
	if must {
		if _, err := client.CoreV1().ConfigMaps(lookupNamespace).Get(ctx, lookupName, metav1.GetOptions{}); err != nil {
			return nil, fmt.Errorf("look up the authorities of client certificates: %w", err)
		}
	}
	ca, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", lookupNamespace, lookupName, lookupKey, client)
	if err != nil {
		return nil, err
	}
	go ca.Run(ctx, 1)
	return ca, nil
}
