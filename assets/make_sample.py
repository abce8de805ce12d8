"""Write the sample table: messages to a clinic's patient portal, invented from sentence plans, about nobody; and a
smaller table of other messages that no run uses, for the evaluation.

    python assets/make_sample.py

The same seed gives the same file on every machine. The table is synthetic from the first word, so a plain seeded
generator is the right tool here; nothing private is drawn with it.
"""

from __future__ import annotations

import csv
import io
import random
import re
from pathlib import Path

SEED = 20260401
ROWS_PER_LABEL = 400
TARGET = Path(__file__).resolve().parent / "sample_messages.csv"
HELD_OUT_SEED = 20261201
HELD_OUT_ROWS_PER_LABEL = 60
HELD_OUT_TARGET = TARGET.with_name("sample_held_out.csv")
SLOT = re.compile(r"\{(\w+)\}")

# fmt: off
SLOTS: dict[str, tuple[str, ...]] = {
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    "month": ("January", "March", "April", "May", "June", "August", "September", "October", "November"),
    "when": (
        "last week", "two days ago", "on {day}", "in {month}", "yesterday", "this morning", "about a month ago",
    ),
    "time": ("8:15", "9:00", "9:40", "10:30", "11:20", "1:45", "2:30", "3:10", "4:00", "4:45"),
    "since": (
        "since {day}", "for three days", "for about two weeks", "since the weekend", "for almost a month",
        "since I came home", "on and off since {month}",
    ),
    "doctor": (
        "the cardiologist", "the dermatologist", "the eye clinic", "the orthopedic surgeon", "my family doctor",
        "the physical therapist", "the allergy nurse", "the dietitian", "the sleep clinic", "the midwife",
    ),
    "whose": ("my", "my", "my", "my mother's", "my son's", "my daughter's", "my husband's", "my father's"),
    "visit": (
        "checkup", "follow-up", "appointment", "yearly physical", "blood pressure check", "wound check",
        "vaccination visit", "first consultation", "video visit",
    ),
    "reason": (
        "I have to work that day", "my car broke down", "I will be out of town", "my child is sick",
        "I have no ride that early", "the bus does not run then", "I start a new shift", "I have a funeral",
    ),
    "drug": (
        "blood pressure pills", "thyroid tablets", "inhaler", "insulin pens", "allergy spray", "cholesterol pills",
        "migraine tablets", "water pills", "acid reflux capsules", "eye drops", "skin cream", "iron tablets",
    ),
    "pharmacy": (
        "the pharmacy on the corner", "the mail-order pharmacy", "the pharmacy near the station",
        "the hospital pharmacy", "the drugstore by the market", "a new pharmacy across the river",
    ),
    "left": ("two tablets", "three days", "less than a week", "only today's dose", "nothing", "four doses"),
    "dose": (
        "one in the morning", "two a day", "half a tablet", "10 mg at night", "one with dinner", "20 mg a day",
    ),
    "test": (
        "blood test", "chest X-ray", "cholesterol panel", "thyroid test", "urine sample", "MRI of the knee",
        "mammogram", "allergy test", "A1C", "iron level", "throat swab", "bone scan", "stress test",
    ),
    "value": (
        "a bit high", "marked in red", "lower than last year", "outside the normal range", "flagged with a star",
        "listed as pending", "higher than in {month}", "described as borderline",
    ),
    "amount": ("$18", "$35.50", "$42", "$64.20", "$90", "$118", "$127.75", "$210", "$265", "$340", "$480"),
    "service": (
        "a lab visit", "an emergency room visit", "two vaccinations", "the {test}", "a video visit",
        "an ambulance ride", "physical therapy", "a missed visit", "the {visit}", "crutches",
    ),
    "insurer": ("my insurance", "my new insurance", "the insurance from my job", "my plan", "the student plan"),
    "part": (
        "lower back", "left knee", "right shoulder", "chest", "stomach", "neck", "left ear", "right foot",
        "throat", "both hands", "jaw", "left hip",
    ),
    "feel": (
        "a dull ache", "a sharp pain", "a burning feeling", "tingling", "stiffness", "swelling", "pressure",
        "cramps", "numbness", "an itchy rash",
    ),
    "worse": (
        "when I climb stairs", "at night", "after meals", "when I sit for long", "in the morning",
        "when I lie on that side", "after a short walk", "in the cold", "whenever I cough",
    ),
    "tried": (
        "rest and ice", "a warm bath", "over-the-counter painkillers", "stretching", "ginger tea", "a heating pad",
        "drinking more water", "skipping the gym", "a softer pillow", "antacids",
    ),
    "other": (
        "I have no fever", "I also had chills", "I feel tired all day", "my appetite is fine",
        "I slept badly again", "I felt dizzy twice", "there is no redness", "the swelling comes and goes",
    ),
    "device": ("my phone", "my old tablet", "the laptop at work", "the library computer", "both of my browsers"),
    "screen": (
        "a blank page", "an error with a long number", "the login page again", "a spinning circle",
        "someone else's language", "a message that my session expired", "no messages at all",
    ),
    "task": (
        "open my messages", "upload a photo of my rash", "download a vaccination record", "reset my password",
        "confirm my email address", "join the video visit", "change my phone number", "see my visit summary",
        "add my daughter's account", "print my test results", "pay online", "fill in the health form",
    ),
    "ask": (
        "Can you help?", "What should I do?", "Please let me know.", "Could someone call me back?",
        "Please advise.", "I would be grateful for a short answer.", "Is that possible?", "Please write back.",
    ),
    "hello": ("Hello.", "Hi there.", "Good morning.", "Dear team.", "Good afternoon."),
    "thanks": ("Thank you.", "Thanks so much.", "Many thanks for your help.", "Thanks in advance."),
}
# fmt: on

PLANS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Appointment": (
        (
            "I need to move {whose} {visit} on {day} at {time} because {reason}.",
            "Is there an earlier opening with {doctor} than {day} at {time}?",
            "I missed {whose} {visit} {when} since {reason}, and I would like a new time.",
            "Could you book {whose} {visit} with {doctor} for a {day} afternoon in {month}?",
            "The reminder says {day} at {time}, but I wrote down {time} for {whose} {visit}.",
            "Please cancel {whose} {visit} with {doctor} on {day}; {reason}.",
            "I have been on the waiting list for {doctor} since {month} and have not heard a date.",
        ),
        (
            "Any time after {time} works for me.",
            "Mornings before {time} are best.",
            "A video visit would be fine too.",
            "I can come any {day} in {month}.",
            "How long should I plan for the {visit}?",
            "Do I need to bring anything?",
            "I can take a cancellation at short notice.",
        ),
    ),
    "Billing": (
        (
            "I was charged {amount} for {service}, but {insurer} should have covered it.",
            "The bill from {when} lists {service} twice and asks for {amount}.",
            "I paid {amount} {when}, yet the statement still shows a balance of {amount}.",
            "Could you explain the {amount} for {service} on the statement from {month}?",
            "{insurer} says they never received a claim for {service}.",
            "May I pay the {amount} for {service} in smaller parts until {month}?",
            "I received a reminder for {amount} although I did not have {service} in {month}.",
        ),
        (
            "I have the receipt and can send a copy.",
            "I do not want this to go to collections.",
            "The phone line for billing kept me waiting for half an hour.",
            "My policy changed in {month}.",
            "Nobody told me about a fee beforehand.",
            "A corrected bill by mail would be best.",
            "I can pay the rest on {day}.",
        ),
    ),
    "Prescription": (
        (
            "I have {left} left of {whose} {drug} and need a refill before {day}.",
            "Please send the prescription for {whose} {drug} to {pharmacy} instead.",
            "{pharmacy} says the refill for {whose} {drug} was denied {when}.",
            "Should I keep the {drug} at {dose}, or change to {dose} as {doctor} said?",
            "{pharmacy} has no {drug} in stock, so is there something similar I can take?",
            "I forgot {whose} {drug} at home while traveling and have {left} with me.",
            "{doctor} changed the {drug} {when}, but {pharmacy} still has the old dose.",
        ),
        (
            "I take {dose} at the moment.",
            "The label says no refills remain.",
            "A ninety-day supply would save me a trip.",
            "They need an approval from your office first.",
            "I would rather not skip a dose.",
            "I can pick it up on {day} after {time}.",
            "The bottle is dated {month}.",
        ),
    ),
    "Test result": (
        (
            "I saw that {whose} {test} is {value}, and nobody has explained it yet.",
            "I had {whose} {test} {when} and still cannot find the result.",
            "What does it mean that the {test} came back {value}?",
            "Do I need to repeat the {test} before I see {doctor} on {day}?",
            "Could you send the result of {whose} {test} to {doctor} before {day}?",
            "The result of the {test} was posted {when}, but the comment from {doctor} is missing.",
            "My {test} was {value} {when}, so should I be worried?",
        ),
        (
            "I was not fasting that morning.",
            "My last one in {month} was normal.",
            "I would rather hear it by phone.",
            "Please tell me whether I should change my {drug}.",
            "The paper copy is hard to read.",
            "My next {visit} is on {day}.",
            "It runs in my family, so I am a little nervous.",
        ),
    ),
    "Symptom": (
        (
            "I have had {feel} in my {part} {since}, and it gets worse {worse}.",
            "{since_capital} there has been {feel} in my {part} {worse}.",
            "After starting the {drug} {when} I noticed {feel} in my {part}.",
            "My {part} still hurts {worse} even though I tried {tried}.",
            "The {feel} in my {part} came back {when}, mostly {worse}.",
            "Is it normal to have {feel} in the {part} after the {test}?",
            "I woke up with {feel} in my {part}, and {tried} did not help.",
        ),
        (
            "{other_capital}.",
            "I tried {tried} without much luck.",
            "Should I come in or wait until {day}?",
            "It is about a six out of ten.",
            "I am still taking {dose} of the {drug}.",
            "I can send a photo if that helps.",
            "Do I need to see {doctor} about this?",
        ),
    ),
    "Portal access": (
        (
            "I tried to {task} on {device}, but I only get {screen}.",
            "The portal shows {screen} each time I want to {task}.",
            "How do I {task} when the button does nothing on {device}?",
            "I changed my phone number {when}, so the code to log in never arrives.",
            "My account was locked {when} after I tried to {task}.",
            "The app on {device} asks me to {task} again every day.",
            "Since the update {when} I can no longer {task}.",
        ),
        (
            "I already restarted {device}.",
            "I also cleared the browser and tried again at {time}.",
            "It worked fine in {month}.",
            "The help page sends me in circles.",
            "I need it before my {visit} on {day}.",
            "I am not good with computers, so please keep it simple.",
            "A link by email would be enough.",
        ),
    ),
}


def fill(rng: random.Random, plan: str) -> str:
    """A sentence plan with every slot filled, slots within slots included; `x_capital` begins with a capital."""
    while match := SLOT.search(plan):
        name = match[1]
        words = rng.choice(SLOTS[name.removesuffix("_capital")])
        if name.endswith("_capital") or (match.start() == 0):
            words = words[0].upper() + words[1:]
        plan = plan[: match.start()] + words + plan[match.end() :]
    return plan


def message(rng: random.Random, label: str) -> str:
    """One message of 12 to 45 words: perhaps a greeting, the matter, a detail or two, a question, thanks."""
    openings, details = PLANS[label]
    while True:
        parts = [fill(rng, rng.choice(openings))]
        parts += [fill(rng, detail) for detail in rng.sample(details, rng.choice((0, 1, 1, 2)))]
        if rng.random() < 0.45:
            parts.append(rng.choice(SLOTS["ask"]))
        if rng.random() < 0.3:
            parts.append(rng.choice(SLOTS["thanks"]))
        text = " ".join(parts)
        if rng.random() < 0.25:
            text = f"{rng.choice(SLOTS['hello'])} {text}"
        if 12 <= len(text.split()) <= 45:
            return text


def sample_csv(seed: int = SEED, rows_per_label: int = ROWS_PER_LABEL, without: frozenset[str] = frozenset()) -> bytes:
    """The whole file: header `label,text`, labels in random order, no text twice, UTF-8, line feeds.

    without: texts that stand elsewhere already.
    """
    rng = random.Random(seed)
    labels = [label for label in PLANS for _ in range(rows_per_label)]
    rng.shuffle(labels)
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("label", "text"))
    seen = set(without)
    for label in labels:
        while (text := message(rng, label)) in seen:
            pass
        seen.add(text)
        writer.writerow((label, text))
    return buffer.getvalue().encode()


def held_out_csv() -> bytes:
    """Other messages of the same kind; none of them stands in the sample."""
    used = frozenset(row[1] for row in csv.reader(io.StringIO(sample_csv().decode(), newline="")))
    return sample_csv(HELD_OUT_SEED, HELD_OUT_ROWS_PER_LABEL, used)


def main() -> None:
    """Write both files beside this script."""
    for target, content in ((TARGET, sample_csv()), (HELD_OUT_TARGET, held_out_csv())):
        target.write_bytes(content)
        print(f"wrote {target}")


if __name__ == "__main__":
    main()
