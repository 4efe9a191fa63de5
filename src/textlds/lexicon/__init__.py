"""What words are like by themselves: profiles from counts, and spelling for rare and unknown words."""
