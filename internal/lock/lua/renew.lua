-- Gives one hold a whole lease again, or only looks whether it is there. Repeating it is harmless. After holds.lua.
--
-- KEYS[1]  the holds (holds.lua)
-- ARGV[1]  lease, milliseconds; 0 to look only
-- ARGV[2]  the hold
--
-- Returns  1  the request holds the lock, for a lease from now if one was given
--          0  it does not; nothing was changed

local now = clock()
if not holding(KEYS[1], ARGV[2], now) then
  return 0
end
if ARGV[1] ~= '0' then
  take(KEYS[1], token_of(KEYS[1]), ARGV[2], now + ARGV[1])
  settle(KEYS[1], now)
end
return 1
