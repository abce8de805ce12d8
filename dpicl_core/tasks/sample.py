"""The sample: invented patient-portal messages by topic (assets/sample_messages.csv). No real person stands in it."""

from dpicl_core.values import Task

TASK = Task(
    name="sample",
    title="Patient messages (sample)",
    instruction="Given a topic, write a short message that a patient sends to the clinic about this topic.",
    generation_label_header="Topic",
    generation_text_header="Message",
    icl_instruction="Sort each patient message into one of the topics Appointment, Prescription, Test result, Billing, "
    "Symptom, or Portal access.",
    icl_text_header="Message",
    icl_label_header="Topic",
    labels=("Appointment", "Prescription", "Test result", "Billing", "Symptom", "Portal access"),
    subsets=10,
    per_subset=1,  # half the sampling rate of two rows a group, so a sixth less noise at epsilon 4, and shorter prompts
    tokens=20,
    record_tokens=48,
    min_tokens=6,
)
