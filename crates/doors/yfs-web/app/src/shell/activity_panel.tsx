// The place of the activity, which is loaded when it is opened.

import { lazily } from './lazily'

export const ActivityPanel = lazily(async () => (await import('../trust/activity')).Activity)
