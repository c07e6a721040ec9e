// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"fmt"
	"slices"
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
	{29, "a token revoked while attached leaves the holder without a word", revokedTokenLeavesTheHolderWithoutAWord},
	{10, "the policy tag is Airflow's own to the byte", policyTagIsAirflowsOwn},
	{11, "an unreadable policy is told as unknown", unreadablePolicyIsToldAsUnknown},
	{12, "a task is told the lifetime that remains, and its commands keep to it", remainingLifetimeIsToldAndKept},
	{13, "an odd expiry refuses nobody", anOddExpiryRefusesNobody},
	{14, "shell and files agree on the stamped working directory", shellAndFilesAgreeOnTheStampedWorkdir},
	{15, "what is no handle ends the task before anything is asked", notAHandleEndsTheTaskBeforeAnythingIsAsked},
	{18, "a sandbox that was attached to stays Terraform's, without drift", attachedSandboxStaysTerraforms},
	{22, "a create of Airflow's refuses and sends what our plan does", createRefusesAndSendsWhatOurPlanDoes},
	{19, "an apply keeps the holder", applyKeepsTheHolder},
	{21, "a reviewed agent holds nothing while a person reads", reviewHoldsNothingWhileAPersonReads},
	{2, "a task presents its run and holds as itself", taskIsItsRunAndHoldsAsItself},
	{3, "only one index of a mapped task holds", onlyOneIndexOfAMappedTaskHolds},
	{16, "a handle is rendered for each task instance", handleIsRenderedForEachTaskInstance},
	{17, "a template as owner stays literal", templateAsOwnerStaysLiteral},
	{23, "a connection that Terraform wrote is read as it was meant", connectionIsReadAsItWasMeant},
	{25, "what Airflow masks is no drift", maskedFieldsAreNoDrift},
	{20, "the claim of a task that is over is released, and the next one attaches", releasedClaimLetsTheNextTaskIn},
	{26, "a run is found whatever its id holds", runIsFoundWhateverItsIDHolds},
}

func TestAirflow(t *testing.T) {
	lab = deploy(t)
	for _, c := range cases {
		t.Run(fmt.Sprintf("%02d %s", c.number, c.promise), c.keep)
	}
	t.Run("the janitor reclaims what Airflow made and left past its end", whatAirflowLeftPastItsEndGoes)
	t.Run("the janitor believes a deployment only about what is its own", onlyItsOwnDeploymentIsBelieved)
}

// Numbers 24 and 27 of the list are about a backend that we do not have yet, and 28
// is about the tables to which internal/airflow is held.
func TestEveryCaseHasATest(t *testing.T) {
	covered := map[int]bool{}
	for _, c := range cases {
		covered[c.number] = true
	}
	elsewhere := []int{24, 27, 28}
	for number := 1; number <= 29; number++ {
		if !covered[number] && !slices.Contains(elsewhere, number) {
			t.Errorf("case %d has no test", number)
		}
	}
}
