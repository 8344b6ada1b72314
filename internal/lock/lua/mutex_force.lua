-- Frees the mutex, no matter who has it, and wakes its waiters. Its holder notices at its next renewal or check.
-- Follows mutex_free.lua.
--
-- KEYS[1]  the lock, string (mutex_acquire.lua)
-- ARGV[1]  channel on which waiters listen
-- ARGV[2]  how long the last token stays with the lock, milliseconds
--
-- Returns  1  the mutex was held
--          0  it was free; nothing was changed or published

local state = redis.call('GET', KEYS[1])
if not state or string.byte(state) == 45 then -- "-"
  return 0
end
local token = string.match(state, '^%S+ (%d+) ')
if token then
  free(KEYS[1], '-' .. token .. string.format(' %.0f', token + 1), ARGV[2]) -- token + 1: its holder has not released
else
  redis.call('DEL', KEYS[1]) -- not one of our values
end
redis.call('PUBLISH', ARGV[1], 'forced')
return 1
